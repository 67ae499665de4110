/* page.h - the frame of an HTML file that needs no other file and no network. */
#ifndef TRIL_EXTRAS_PAGE_PAGE_H
#define TRIL_EXTRAS_PAGE_PAGE_H

#include <stdio.h>

/* Write the rest of a page's head, after its first lines, up to <body>; and the scripts and the
 * end, from </main>. */
void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

#endif
