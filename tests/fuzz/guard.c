#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_fail(const char *promise) {
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}

char *fuzz_guarded(const uint8_t *bytes, size_t length) {
    static char *end;
    if (!end) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *start =
            mmap(NULL, FUZZ_MAX + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) fuzz_fail("a mebibyte of memory");
        end = start + FUZZ_MAX;
        if (mprotect(end, page, PROT_NONE) != 0) fuzz_fail("a guarded page");
    }
    if (length > FUZZ_MAX) return NULL;
    if (length > 0) memcpy(end - length, bytes, length);
    return end - length;
}
