#include "base/error.h"
#include "base/escape.h"

#include <stdarg.h>

/* escape_copy drops a character that was cut at the end of `whole`: escaped, it does not fit. */
void error_write(Error *err, const char *format, ...) {
    char whole[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    err->no_memory = false;
    escape_copy(err->text, sizeof err->text, whole); /* names and texts in it may be a file's */
}
