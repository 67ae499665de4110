#include "base/error.h"
#include "base/escape.h"

#include <stdarg.h>

/* A character that is cut at the end of `whole` takes more room when it is shown, and is left out.
 */
void error_write(Error *err, const char *format, ...) {
    char whole[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    err->no_memory = false;
    escape_copy(err->text, sizeof err->text,
                whole); /* names and texts in it may come from a file */
}
