/* error.h - how everything below the programs reports a failure.
 *
 * A function that meets a file, memory or a person returns bool and takes an Error last. On
 * failure it returns fail(err, ...): false, with one sentence that names the file, the place and
 * what to do. The programs print it; nothing else does. */
#ifndef TRIL_ERROR_H
#define TRIL_ERROR_H

#include <stdbool.h>

typedef struct {
    char text[512]; /* one line, no newline; empty while nothing has failed */
    bool no_memory; /* what failed was a request for memory */
} Error;

/* Writes the message, cut to whole characters that fit; what a terminal would obey is written out,
 * as escape.h says. */
void error_write(Error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, and is false: a macro, for compilers and checkers to see that it always is. */
#define fail(...) (error_write(__VA_ARGS__), error_false())

static inline bool error_false(void) {
    return false;
}

#endif
