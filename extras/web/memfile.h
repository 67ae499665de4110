/* memfile.h - a file in memory, in place of a file system, which base/file.h reads and writes. */
#ifndef TRIL_EXTRAS_WEB_MEMFILE_H
#define TRIL_EXTRAS_WEB_MEMFILE_H

#include "base/error.h"

#include <stddef.h>

/* Makes the file, whose name is `name` from now on, in place of any before, and sets *bytes to its
 * `length` bytes, which it owns and the caller fills. Fails without memory. */
bool memfile_make(const char *name, size_t length, char **bytes, Error *err);

/* Returns the bytes of the file, valid until it is removed or made anew; NULL if there is none of
 * this name. */
const char *memfile_bytes(const char *name, size_t *length);

/* Removes the file, if there is one, and releases its bytes. */
void memfile_remove(void);

#endif
