/* error.h - the error of a function that failed, as a message: the TrilError of tril.h.
 *
 * A function that can fail because of a file, memory or input returns bool and takes an Error last.
 * On failure it returns fail(err, ...), which is false. The message is one sentence: the file, the
 * place in it, and what to do. Only the programs print it. */
#ifndef TRIL_BASE_ERROR_H
#define TRIL_BASE_ERROR_H

#include "base/compiler.h"
#include "library/tril.h"

typedef TrilError Error;

/* Writes the message, escaped (escape.h). If it does not fit, "..." replaces its middle; the end
 * of a message of more than 4 KiB is lost. */
void error_write(Error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the message and returns false. A macro, so that compilers see that it is always false. */
#define fail(...) (error_write(__VA_ARGS__), error_false())

/* The same for a failure of another kind than TRIL_ARGUMENT, and for a lack of memory. */
#define fail_as(kind, err, ...) \
    (error_write(err, __VA_ARGS__), (err)->status = (kind), error_false())
#define fail_memory(err, ...) fail_as(TRIL_NO_MEMORY, err, __VA_ARGS__)

static inline bool error_false(void) {
    return false;
}

/* Puts `name` and a colon before the message. Returns false. */
static inline bool message_of(Error *err, const char *name) {
    const Error own = *err;
    return fail_as(own.status, err, "%s: %s", name, own.text);
}

/* Returns `ok`. A failure becomes one of this kind, unless it was a lack of memory. */
static inline bool or_as(bool ok, TrilStatus kind, Error *err) {
    if (!ok && err->status != TRIL_NO_MEMORY) err->status = kind;
    return ok;
}

#endif
