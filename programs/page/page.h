/* page.h - HTML files that need no other file and no network: the page of a training, and that of
 * an explanation. While the training runs, its page is written again and again, and reloads itself
 * in the browser. */
#ifndef TRIL_PROGRAMS_PAGE_PAGE_H
#define TRIL_PROGRAMS_PAGE_PAGE_H

#include "base/error.h"
#include "programs/report/explain.h"

#include <stdint.h>
#include <stdio.h>

/* Writes all of a page up to <body>. The page of a training names it, and the digests of the table
 * beside the page and of the one that will be written next, 0 if there is none; `tables` is NULL on
 * other pages. page_end writes the scripts and the end. */
void page_begin(FILE *out, const char *title, uint64_t training, const uint64_t tables[2]);
void page_end(FILE *out);

/* True if the file at `path` is a page of this training and, unless `table` is 0, names the table
 * of this digest. */
bool page_is_of(const char *path, uint64_t training, uint64_t table);

/* Writes what `explain` writes as a page. Fails also if the file exists. */
bool page_explain(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err);

#endif
