/* memfile.h - files in memory, in place of a file system, which base/file.h reads and writes. */
#ifndef TRIL_EXTRAS_WEB_MEMFILE_H
#define TRIL_EXTRAS_WEB_MEMFILE_H

#include "base/error.h"

#include <stddef.h>

/* Makes the file `name`, in place of one of that name, and sets *bytes to its `length` bytes, which
 * the file owns and the caller fills. Fails without memory. */
bool memfile_make(const char *name, size_t length, char **bytes, Error *err);

/* Returns the bytes of a file, valid until it is removed or written, or NULL if there is no such
 * file. */
const char *memfile_bytes(const char *name, size_t *length);

/* Removes a file, if it exists, and releases its bytes. */
void memfile_remove(const char *name);

#endif
