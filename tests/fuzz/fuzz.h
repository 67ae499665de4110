/* fuzz.h - harnesses that call the readers of outside data with any bytes. A harness uses the bytes
 * as a program would, and ends the process if a promise is broken. */
#ifndef TRIL_FUZZ_H
#define TRIL_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_safetensors(const uint8_t *bytes, size_t length);
void fuzz_state(const uint8_t *bytes, size_t length);
void fuzz_command(const uint8_t *bytes, size_t length);

/* Calls a harness with every prefix of every file of a folder. Fails the test if there is none. */
void fuzz_replay(const char *folder, void (*harness)(const uint8_t *bytes, size_t length));

/* Returns the folder for files: TMPDIR or /tmp. */
const char *fuzz_files(void);

/* Prints the broken promise and ends the process. */
void fuzz_fail(const char *promise);

#endif
