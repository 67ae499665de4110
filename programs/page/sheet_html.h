/* sheet_html.h - an explanation as a part of an HTML page. */
#ifndef TRIL_PROGRAMS_PAGE_SHEET_HTML_H
#define TRIL_PROGRAMS_PAGE_SHEET_HTML_H

#include "programs/report/sheet.h"

/* Returns a sheet for what is between <body> and </body>. */
Sheet sheet_html(FILE *out);

#endif
