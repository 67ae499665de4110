/* entry.c - where libFuzzer calls one harness, whose name is HARNESS. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    HARNESS(bytes, length);
    return 0;
}
