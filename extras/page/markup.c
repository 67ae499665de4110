/* markup.c - text in HTML. */
#include "extras/page/figure.h"
#include "base/utf8.h"
#include "programs/glyph.h"

#include <stdarg.h>
#include <string.h>

static bool is_control(uint32_t code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           code == 0xFFFE || code == 0xFFFF;
}

static void markup_bytes(FILE *out, const char *text, size_t length) {
    for (size_t left = length; left > 0;) {
        uint32_t code;
        int bytes = utf8_decode(text, left, &code);
        if (bytes <= 0 || is_control(code) || glyph_is_format(code))
            fputs("\uFFFD", out);
        else if (strchr("&<>\"'", (int)code) && code < 0x80)
            fprintf(out, "&#%d;", (int)code);
        else
            fwrite(text, 1, (size_t)bytes, out);
        size_t taken = bytes > 0 ? (size_t)bytes : 1;
        text += taken;
        left -= taken;
    }
}

void markup(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%"), length;
        fwrite(at, 1, plain, out);
        at += plain;
        if (!*at) break;
        char one[16]; /* conversion */
        length = 2 + strspn(at + 1, "+.*z0123456789");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        at += length;
        int precision = strchr(one, '*') ? va_arg(arguments, int) : -1;
        switch (one[length - 1]) {
            case '%': putc('%', out); break;
            // the arguments are of different types: NOLINTNEXTLINE(bugprone-branch-clone)
            case 'd': fprintf(out, one, va_arg(arguments, int)); break;
            case 'u': fprintf(out, one, va_arg(arguments, size_t)); break;
            case 's': {
                const char *text = va_arg(arguments, const char *);
                markup_bytes(out, text, precision >= 0 ? (size_t)precision : strlen(text));
                break;
            }
            default:
                if (precision >= 0)
                    fprintf(out, one, precision, va_arg(arguments, double));
                else
                    fprintf(out, one, va_arg(arguments, double));
        }
    }
    va_end(arguments);
}
