/* markup.h - escapes text for HTML and SVG. */
#ifndef TRIL_PROGRAMS_REPORT_MARKUP_H
#define TRIL_PROGRAMS_REPORT_MARKUP_H

#include <stdio.h>

/* Writes `text` so that a browser shows it as text, between tags or in a quoted attribute. Markup
 * characters become references. Control and format characters, and bytes that are not UTF-8, become
 * U+FFFD. Newlines and tabs stay. */
void markup_text(FILE *out, const char *text);
void markup_bytes(FILE *out, const char *text, size_t length);

#endif
