/* markup.h - any text as text in HTML and SVG. */
#ifndef TRIL_REPORT_MARKUP_H
#define TRIL_REPORT_MARKUP_H

#include <stdio.h>

/* Write `text` so that it is nothing but text, between tags and within a quoted attribute: what
 * has a meaning there is spelled out, and what cannot be seen, may not stand there, would turn the
 * text around it, or is not UTF-8 becomes U+FFFD. Ends of lines and tabs stay. */
void markup_text(FILE *out, const char *text);
void markup_bytes(FILE *out, const char *text, size_t length);

#endif
