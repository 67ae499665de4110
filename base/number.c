#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits_only[] = "0123456789";

/* The length of the decimal point that begins here; 0: none does. printf writes only digits, signs
 * and letters besides. */
static size_t point_length(const char *text) {
    return *text && !strchr("einfa", *text) ? strcspn(text, digits_only) : 0;
}

int number_write(char *text, size_t size, char style, int digits, double x) {
    snprintf(text, size, style == 'f' ? "%.*f" : "%.*g", digits, x);
    char *at = text + strspn(text, "+-0123456789");
    size_t point = point_length(at);
    if (point > 0) {
        *at = '.';
        memmove(at + 1, at + point, strlen(at + point) + 1);
    }
    return (int)strlen(text);
}

/* strtod expects the locale's own point: it gets a copy with that. */
double number_read(const char *text, char **end) {
    enum { LONGEST = 512 };
    char copy[LONGEST], half[16], *stop;
    size_t length = strspn(text, "+-.0123456789eEinfaINFA"), before = strcspn(text, ".");
    snprintf(half, sizeof half, "%.1f", 0.5);
    size_t point = point_length(half + 1), more = before < length ? point - 1 : 0;
    double x = 0;
    stop = copy;
    if (length + more < LONGEST) {
        memcpy(copy, text, length);
        if (before < length) {
            memcpy(copy + before, half + 1, point);
            memcpy(copy + before + point, text + before + 1, length - before - 1);
        }
        copy[length + more] = 0;
        x = strtod(copy, &stop);
    }
    size_t taken = (size_t)(stop - copy);
    if (end) *end = (char *)text + (taken > before ? taken - more : taken);
    return x;
}

void number_shortest(char *text, size_t size, double x) {
    int digits = 6;
    do {
        number_write(text, size, 'g', digits, x);
    } while (number_read(text, NULL) != x && ++digits <= 17);
}
