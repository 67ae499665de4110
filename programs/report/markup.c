#include "programs/report/markup.h"
#include "base/utf8.h"
#include "programs/report/glyph.h"

#include <string.h>

static bool is_control(uint32_t code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           code == 0xFFFE || code == 0xFFFF;
}

void markup_text(FILE *out, const char *text) {
    markup_bytes(out, text, strlen(text));
}

void markup_bytes(FILE *out, const char *text, size_t length) {
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
