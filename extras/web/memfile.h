/* memfile.h - files in memory, in place of a file system: base/file.h reads and writes them. */
#ifndef TRIL_EXTRAS_WEB_MEMFILE_H
#define TRIL_EXTRAS_WEB_MEMFILE_H

#include "base/error.h"

#include <stddef.h>

/* Makes the file `name`, in place of one of that name, and sets *bytes to its `length` bytes, which
 * the caller fills. The file owns them. Refused: no memory. */
bool memfile_make(const char *name, size_t length, char **bytes, Error *err);

/* The bytes of a file, valid until it is removed or written; NULL if there is none. */
const char *memfile_bytes(const char *name, size_t *length);

/* Removes a file and releases its bytes; without such a file nothing. */
void memfile_remove(const char *name);

#endif
