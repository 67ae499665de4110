/* texts.h - files that are named on the command line, and all in the folders named there; and their
 * content, as the text of a training run. */
#ifndef TRIL_PROGRAMS_TEXTS_H
#define TRIL_PROGRAMS_TEXTS_H

#include "base/error.h"
#include "base/filesystem.h"
#include "library/tril.h"

enum { TEXTS_NAME = 4096 };

/* The name of the page that a training run writes beside its model, and how it begins. */
#define RUN_PAGE "report.html"
#define RUN_PAGE_BEGINNING                                                    \
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" \
    "<meta name=\"training\" content=\""

typedef struct {
    char *path; /* "-" is standard input; owned */
    FileId id;
} TextFile;

typedef struct {
    TextFile *files; /* [count], sorted by path, each file once under its first one; owned */
    int count, capacity;
    char name[TEXTS_NAME]; /* for messages and titles: the path of the only one, or their number */
} Texts;

/* Lists the files named by operands[count] and, for each folder named there, the files in it and in
 * all folders below it. Leaves out names that begin with a dot, links to folders, and all but
 * regular files; without `runs`, it also leaves out, from a folder with the page of a training run,
 * that page, models, CSV files, and the folders earlier-N. The caller releases them with
 * texts_free, even after a failure. */
bool texts_find(Texts *texts, char *const *operands, int count, bool runs, Error *err);

/* Reads all of them, joined for `options` as tril_text_join says, into *bytes [*length]. The caller
 * releases *bytes with memory_free. */
bool texts_read(const Texts *texts, const TrilOptions *options, char **bytes, size_t *length,
                Error *err);

void texts_free(Texts *texts);

#endif
