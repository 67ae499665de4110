#include "tests/fuzz/fuzz.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/support.h"
#include "tests/system.h"

#include <dirent.h>

const char *fuzz_files(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

void fuzz_fail(const char *promise) {
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}

char *fuzz_guarded(const uint8_t *bytes, size_t length) {
    static char *end;
    if (!end) end = guard_memory(FUZZ_MAX);
    if (length > FUZZ_MAX) return NULL;
    if (length > 0) memcpy(end - length, bytes, length);
    return end - length;
}

enum { MOST = 4096 };
static struct {
    Digest digest;
    uint64_t said[MOST]; /* digests of the messages without their numbers */
    uint64_t count;
} found; /* in one file */

void fuzz_found(const char *text, size_t length) {
    digest_add(&found.digest, text, length);
}

void fuzz_said(const char *message) {
    Digest words = digest_start();
    uint64_t number = 0;
    for (const char *at = message; *at; at++)
        digest_add(*at >= '0' && *at <= '9' ? &found.digest : &words, at, 1);
    found.said[found.count] = digest_value(&words);
    while (found.said[number] != found.said[found.count]) number++;
    found.count += number == found.count && number < MOST - 1;
    digest_numbers(&found.digest, &number, sizeof number, sizeof number);
}

uint64_t fuzz_replay(const char *folder, void (*harness)(const uint8_t *bytes, size_t length)) {
    static const char others[] = {0, ' ', '"', '-', '.', '9'};
    uint64_t sum = 0;
    DIR *entries = opendir(folder);
    int files = 0;
    assert_non_null(entries);
    harness((const uint8_t *)"", 0);
    keep_memory(); /* blocks that a harness keeps are no leak */
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.') continue;
        char path[512], *bytes;
        size_t length;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_ok(file_read(path, &bytes, &length, &err), err);
        found.digest = digest_start();
        found.count = 0;
        for (size_t cut = 0; cut <= length; cut++) harness((const uint8_t *)bytes, cut);
        for (size_t at = 0; at < length; at++) {
            const char own = bytes[at];
            for (size_t i = 0; i < sizeof others; i++) {
                bytes[at] = others[i];
                harness((const uint8_t *)bytes, length);
            }
            bytes[at] = own;
        }
        sum += digest_value(&found.digest);
        memory_free(bytes);
        files++;
    }
    closedir(entries);
    assert_true(files > 0);
    return sum;
}
