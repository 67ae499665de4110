/* html.h - what every HTML page has: its head with the style sheet, and at its end the scripts. The
 * page needs no other file and no network. */
#ifndef TRIL_PROGRAMS_REPORT_HTML_H
#define TRIL_PROGRAMS_REPORT_HTML_H

#include <stdio.h>

/* The first bytes of every page. */
#define HTML_BEGIN "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"

/* Writes all up to <body>. `meta`: more elements of the head, written as they are. `title` may hold
 * any characters. */
void html_begin(FILE *out, const char *meta, const char *title);

/* Writes the scripts, which make charts and maps answer the pointer and the keyboard
 * (programs/report/figure.h), and ends the page. */
void html_end(FILE *out);

#endif
