#include "base/error.h"
#include "base/escape.h"

#include <stdarg.h>

/* What is shown is no shorter than the text, so that a character which is cut at the end of `whole`
 * comes after all that fits. */
void error_write(Error *err, const char *format, ...) {
    char whole[sizeof err->text + ESCAPE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    err->no_memory = false;
    escape_copy(err->text, sizeof err->text,
                whole); /* names and texts in it may come from a file */
}
