/* test_fuzz.c - runs the harnesses of tests/fuzz on every prefix of every file in their corpus.
 * `make fuzz` runs a fuzzer on them. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"

#include <signal.h>

#define REPLAY(name)                                          \
    TEST(name) {                                              \
        fuzz_replay("tests/fuzz/corpus/" #name, fuzz_##name); \
    }
REPLAY(safetensors)
REPLAY(state)
REPLAY(command)

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
    char *text = guarded(bytes, 3);
    assert_memory_equal(text, bytes, 3);
    assert_null(guarded(bytes, GUARDED + 1));
    skip_without(FORKING);
    assert_int_not_equal(end_of_process(fork_process(read_too_far, text)), 0);
}
