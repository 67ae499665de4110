/* buffer.h - a growing array of bytes: a text, or a part of a file before it is written. */
#ifndef TRIL_BASE_BUFFER_H
#define TRIL_BASE_BUFFER_H

#include "base/error.h"

#include <stddef.h>

/* After a failure `failed` is true, *err says why, and nothing more is written. */
typedef struct {
    char *bytes; /* owned; buffer_end releases it */
    size_t length, capacity;
    const char *name; /* the file it is for, in messages */
    bool failed;
    Error *err;
} Buffer;

/* Makes an empty buffer. `name` is borrowed. */
Buffer buffer_begin(const char *name, Error *err);

/* Makes space for `more` bytes and a zero byte. */
bool buffer_reserve(Buffer *buffer, size_t more);

/* Append bytes, or text as printf does. */
void buffer_put(Buffer *buffer, const void *bytes, size_t count);
void buffer_printf(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Releases the bytes. */
void buffer_end(Buffer *buffer);

#endif
