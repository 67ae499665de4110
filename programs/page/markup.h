/* markup.h - text inside HTML and SVG. */
#ifndef TRIL_PROGRAMS_PAGE_MARKUP_H
#define TRIL_PROGRAMS_PAGE_MARKUP_H

#include <stdio.h>

/* Writes like fprintf, but text (%s, %.*s) so that a browser shows it as text, between tags or in a
 * quoted attribute: markup characters become references; control and format characters, and bytes
 * that are not UTF-8, become U+FFFD; newlines and tabs stay. Other conversions: %d, %zu, %e, %f and
 * %g, with a precision. */
void markup(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes text[length], any bytes, in the same way. */
void markup_bytes(FILE *out, const char *text, size_t length);

#endif
