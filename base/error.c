#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void error_write(Error *err, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    /* names and texts in it may come from a file */
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
}
