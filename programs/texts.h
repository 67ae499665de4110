/* texts.h - files that are named on the command line, and their content, as the text of a training
 * run. */
#ifndef TRIL_PROGRAMS_TEXTS_H
#define TRIL_PROGRAMS_TEXTS_H

#include "base/error.h"
#include "base/filesystem.h"
#include "library/tril.h"

enum { TEXTS_NAME = 4096 };

typedef struct {
    char *path; /* "-" is standard input; owned */
    FileId id;
} TextFile;

typedef struct {
    TextFile *files; /* [count], sorted by path, each file once under its first one; owned */
    int count;
    char name[TEXTS_NAME]; /* for messages and titles: the path of the only one, or their number */
} Texts;

/* Lists the files named by operands[count], at least one. A folder is an error. The caller releases
 * them with texts_free, even after a failure. */
bool texts_find(Texts *texts, char *const *operands, int count, Error *err);

/* Reads all of them, joined for `options` as tril_text_join says, into *bytes [*length]. The caller
 * releases *bytes with memory_free. */
bool texts_read(const Texts *texts, const TrilOptions *options, char **bytes, size_t *length,
                Error *err);

void texts_free(Texts *texts);

#endif
