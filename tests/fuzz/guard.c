#include "tests/fuzz/fuzz.h"
#include "tests/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
