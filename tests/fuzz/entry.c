/* entry.c - libFuzzer calls the harness HARNESS here. */
#include "tests/fuzz/fuzz.h"

void HARNESS(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    HARNESS(bytes, length);
    return 0;
}
