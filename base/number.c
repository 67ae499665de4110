#include "base/number.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of the decimal point that begins here, if one does. Apart from it, printf
 * writes only digits, signs and letters. */
static size_t point_length(const char *text) {
    return *text && !strchr("einfa", *text) ? strcspn(text, "0123456789") : 0;
}

int number_write(char *text, size_t size, char style, int digits, double x) {
    snprintf(text, size, style == 'f' ? "%.*f" : "%.*g", digits, x);
    char *at = text + strspn(text, "+-0123456789");
    size_t point = point_length(at);
    if (point > 0) {
        *at = '.';
        memmove(at + 1, at + point, strlen(at + point) + 1);
    }
    if (style == 'f' && *text == '-' && !text[1 + strspn(text + 1, ".0")])
        memmove(text, text + 1, strlen(text));
    return (int)strlen(text);
}

/* Gives strtod a copy with the locale's own decimal point, which printf writes into 0.5. */
double number_read(const char *text, char **end) {
    enum { LONGEST = 512 };
    char copy[LONGEST] = "", half[16], *stop;
    size_t all = strspn(text, "+-.0123456789eEinfaINFA");
    const char *dot = memchr(text, '.', all);
    snprintf(half, sizeof half, "%.1f", 0.5);
    int size = dot ? (int)point_length(half + 1) : 0;
    if (all + (size_t)size < LONGEST) {
        int length = (int)all, before = dot ? (int)(dot - text) : length;
        snprintf(copy, LONGEST, "%.*s%.*s%.*s", before, text, size, half + 1,
                 dot ? length - before - 1 : 0, text + before + (dot != NULL));
    }
    double x = strtod(copy, &stop);
    if (end) *end = (char *)text + (stop - copy);
    if (end && dot && *end > dot) *end -= size - 1;
    return x;
}

void number_shortest(char *text, size_t size, double x) {
    int digits = 6;
    do {
        number_write(text, size, 'g', digits, x);
    } while (number_read(text, NULL) != x && ++digits <= 17);
}

/* A number is not finite if all bits of its exponent are set. The loop has no branch, so that
 * compilers can vectorize it. */
bool floats_finite(const void *floats, size_t count) {
    const uint32_t exponent = 0x7F800000;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)floats + i * sizeof bits, sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return !bad;
}
