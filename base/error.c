#include "base/error.h"
#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The reason is at the end of a message, which may begin with a path of thousands of bytes. */
void error_write(Error *err, const char *format, ...) {
    const size_t half = (sizeof err->text - sizeof "...") / 2;
    char whole[4096 + sizeof err->text], shown[sizeof whole];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    err->status = TRIL_ARGUMENT;
    escape_copy(shown, sizeof shown, whole); /* names and texts in it may be a file's */
    size_t length = strlen(shown), begin = length, end = length;
    if (length >= sizeof err->text) {
        begin = half;
        end = length - half;
        while ((shown[begin] & 0xC0) == 0x80) begin--;
        while ((shown[end] & 0xC0) == 0x80) end++;
    }
    snprintf(err->text, sizeof err->text, "%.*s%s%s", (int)begin, shown, begin < end ? "..." : "",
             shown + end);
}
