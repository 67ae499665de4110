/* memfile.h - a file in memory, in place of a file system, which base/file.h reads and writes. */
#ifndef TRIL_EXTRAS_WEB_MEMFILE_H
#define TRIL_EXTRAS_WEB_MEMFILE_H

#include "base/error.h"

#include <stddef.h>

/* Makes the file in place of any before. Returns its `length` bytes, which it owns and the caller
 * fills; NULL without memory. */
char *memfile_make(size_t length, Error *err);

/* Returns the bytes of the file, valid until it is removed or made anew; NULL if there is none. */
const char *memfile_bytes(size_t *length);

/* Removes the file, if there is one, and releases its bytes. */
void memfile_remove(void);

#endif
