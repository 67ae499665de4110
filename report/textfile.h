/* textfile.h - a text file that is printed with stdio, and written whole or not at all. */
#ifndef TRIL_REPORT_TEXTFILE_H
#define TRIL_REPORT_TEXTFILE_H

#include "base/error.h"

#include <stdio.h>

/* Calls print(out, what) and writes what it printed to the file `path`, as file_write does. */
bool textfile_write(const char *path, void (*print)(FILE *out, const void *what), const void *what,
                    Error *err);

#endif
