/* test_fuzz.c - runs the harnesses of tests/fuzz on every prefix of every file in their corpus,
 * and with every byte replaced. `make fuzz` runs a fuzzer on them. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"

#include <inttypes.h>
#include <signal.h>

/* `digest`: that of what the harness found, in 64 bits. */
static void replay(const char *name, void (*harness)(const uint8_t *bytes, size_t length),
                   uint64_t digest) {
    uint64_t now = fuzz_replay(formatted("tests/fuzz/corpus/%s", name), harness);
    if (sizeof(size_t) == 8 && now != digest) fail_msg("%s: 0x%016" PRIx64, name, now);
}

TEST(harnesses) {
    replay("safetensors", fuzz_safetensors, 0x47b43b89fa1b7350);
    replay("utf8", fuzz_utf8, 0xbde9009450fe5069);
    replay("state", fuzz_state, 0x9efcc54092e9f953);
    replay("command", fuzz_command, 0x980b89cf62fe1ad2);
}

static int read_too_far(void *text) {
    signal(SIGSEGV, SIG_DFL); /* the test library would report a failure */
#ifdef SIGBUS
    signal(SIGBUS, SIG_DFL);
#endif
    return ((volatile char *)text)[3];
}

/* The guard works: reading one byte too far ends the process. */
TEST(guard) {
    static const uint8_t bytes[] = "abc";
    char *text = fuzz_guarded(bytes, 3);
    assert_memory_equal(text, bytes, 3);
    assert_null(fuzz_guarded(bytes, FUZZ_MAX + 1));
    skip_without(FORKING);
    assert_int_not_equal(end_of_process(fork_process(read_too_far, text)), 0);
}
