/* fuzz.h - readers of what comes from outside, called with any bytes at all. Each harness does with
 * them what a program would, and ends the process if a promise is broken. */
#ifndef TRIL_FUZZ_H
#define TRIL_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_safetensors(const uint8_t *bytes, size_t length);
void fuzz_tokenizer(const uint8_t *bytes, size_t length);
void fuzz_utf8(const uint8_t *bytes, size_t length);

/* A copy of the bytes, which the next call overwrites, right before a page that may not be touched:
 * a read beyond the end is found with any compiler. NULL for more than FUZZ_MOST. */
enum { FUZZ_MOST = 1 << 20 };
char *fuzz_guarded(const uint8_t *bytes, size_t length);

/* Ends the process with the words of a broken promise. */
void fuzz_fail(const char *promise);

#endif
