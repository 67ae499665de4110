/* web.h - functions for the page in a browser tab, beside tril.h. JavaScript calls all of these as
 * exports of the WebAssembly module. */
#ifndef TRIL_EXTRAS_WEB_WEB_H
#define TRIL_EXTRAS_WEB_WEB_H

#include "base/error.h"
#include "library/tril.h"

#include <stddef.h>

/* A member of a struct that JavaScript reads or writes. */
typedef struct {
    const char *of, *name; /* the struct and its member; the name is empty for the struct itself */
    size_t offset;         /* of the member; for a struct its size */
    int kind; /* i for int or an enum, d for double, s for a text, z for another pointer or size_t,
                 u for uint64_t, b for bool, a for a struct or an array: JavaScript gets its address
               */
} WebMember;

/* Returns a constant table of members. Its last row has `of` NULL. */
const WebMember *web_members(void);

/* Returns 1 if this module multiplies and adds with one rounding, as all of tril but KERNELS=base
 * does, else 0. */
int web_fuses(void);

/* ---- a file in memory, in place of a file system, which base/file.h reads and writes ---- */

/* Makes the file in place of any before. Returns its `length` bytes, which it owns and the caller
 * fills; NULL without memory. */
char *memfile_make(size_t length, Error *err);

/* Returns the bytes of the file, valid until it is removed or made anew; NULL if there is none. */
const char *memfile_bytes(size_t *length);

/* Removes the file, if there is one, and releases its bytes. */
void memfile_remove(void);

#endif
