/* markup.h - any text, escaped for HTML and SVG. */
#ifndef TRIL_REPORT_MARKUP_H
#define TRIL_REPORT_MARKUP_H

#include <stdio.h>

/* Write `text` so that a browser reads it as text, between tags and in a quoted attribute.
 * Characters of the markup become references; control and format characters, and bytes that are not
 * UTF-8, become U+FFFD. Ends of lines and tabs stay. */
void markup_text(FILE *out, const char *text);
void markup_bytes(FILE *out, const char *text, size_t length);

#endif
