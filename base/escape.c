#include "base/escape.h"
#include "base/terminal.h"
#include "base/utf8.h"

#include <limits.h>
#include <string.h>

size_t escape_first(const char *text, size_t length, char shown[ESCAPE_SIZE]) {
    uint32_t code;
    int taken = utf8_decode(text, length, &code);
    bool valid = taken > 0;
    bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    bool reverses = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    if (!valid || control)
        snprintf(shown, ESCAPE_SIZE, "\\x%02x", valid ? code & 0xFF : (unsigned char)*text);
    else if (reverses)
        snprintf(shown, ESCAPE_SIZE, "\\u%04x", code & 0xFFFF);
    else
        snprintf(shown, ESCAPE_SIZE, "%.*s", taken, text);
    return valid ? (size_t)taken : 1;
}

void escape_print(FILE *out, const char *text, size_t length, const char *kept) {
    while (length > 0) {
        char shown[ESCAPE_SIZE];
        size_t taken = escape_first(text, length, shown);
        if (*text && strchr(kept, *text))
            putc(*text, out);
        else
            fputs(shown, out);
        text += taken;
        length -= taken;
    }
}

size_t escape_fitting(const char *text, size_t length, int max, int *columns) {
    size_t fitting = 0;
    *columns = 0;
    while (fitting < length) {
        const char *at = text + fitting;
        char shown[ESCAPE_SIZE];
        uint32_t code;
        const size_t taken = escape_first(at, length - fitting, shown);
        utf8_decode(at, length - fitting, &code);
        int width = *shown == *at ? width_of(code) : (int)strlen(shown);
        if (width < 0) width = 0;
        if (*columns + width > max && fitting > 0) break;
        *columns += width;
        fitting += taken;
    }
    return fitting;
}

int escape_words(FILE *out, const char *text, int column, int hang, int columns) {
    while (*text) {
        size_t blanks = strspn(text, " "), length = blanks + strcspn(text + blanks, " ");
        int width;
        escape_fitting(text, length, INT_MAX, &width);
        if (column > hang && column + width > columns) {
            fprintf(out, "\n%*s", hang, "");
            column = hang;
            text += blanks;
            length -= blanks;
            width -= (int)blanks;
        }
        escape_print(out, text, length, "");
        column += width;
        text += length;
    }
    return column;
}

void escape_copy(char *to, size_t capacity, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        char shown[ESCAPE_SIZE];
        size_t taken = escape_first(text, left, shown), length = strlen(shown);
        if (length >= capacity) break;
        memcpy(to, shown, length);
        to += length;
        capacity -= length;
        text += taken;
        left -= taken;
    }
    *to = 0;
}
