/* textfile.h - writes a text file with stdio, atomically. */
#ifndef TRIL_PROGRAMS_REPORT_TEXTFILE_H
#define TRIL_PROGRAMS_REPORT_TEXTFILE_H

#include "base/error.h"

#include <stdio.h>

/* Calls print(out, what, err) and, if it succeeds, writes its output to the file `path` with
 * file_write. */
bool textfile_write(const char *path, bool (*print)(FILE *out, const void *what, Error *err),
                    const void *what, Error *err);

#endif
