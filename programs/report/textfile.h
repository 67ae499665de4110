/* textfile.h - writes a text file with stdio, atomically. */
#ifndef TRIL_PROGRAMS_REPORT_TEXTFILE_H
#define TRIL_PROGRAMS_REPORT_TEXTFILE_H

#include "base/error.h"

#include <stdio.h>

/* Sets *text [*length] to what print(out, what, err) writes, if it succeeds. The caller releases it
 * with free. `path` is for the message. */
bool textfile_make(char **text, size_t *length, const char *path,
                   bool (*print)(FILE *out, const void *what, Error *err), const void *what,
                   Error *err);

/* Writes the same to the file `path` with file_write. */
bool textfile_write(const char *path, bool (*print)(FILE *out, const void *what, Error *err),
                    const void *what, Error *err);

#endif
