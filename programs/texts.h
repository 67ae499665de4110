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
    char *bytes; /* [length], once it is read; owned */
    size_t length;
} TextFile;

typedef struct {
    TextFile *files;       /* [all], sorted by path, each file once under its first one; owned */
    int count;             /* those to train on */
    int all;               /* one more if the last is held out */
    char *joined;          /* for texts_content; owned */
    char name[TEXTS_NAME]; /* for messages and titles: the only one's path, or their number */
} Texts;

/* Lists the files named by operands[count], at least one, and the one to hold out, or NULL. Fails
 * for a folder, and if one of the others is held out. The caller releases them with texts_free,
 * even after a failure. */
bool texts_find(Texts *texts, char *const *operands, int count, const char *held_out, Error *err);
void texts_free(Texts *texts);

/* Returns the content of all, joined for the share *held_out as tril_text_join says; if a file is
 * held out, sets *held_out to its share. Reads each file only once, however often it is called. The
 * text is valid until the next call. Returns NULL if a file cannot be read, is not UTF-8 where that
 * is needed, or does not fit into memory. */
const char *texts_content(Texts *texts, bool bytes, double *held_out, size_t *length, Error *err);

/* Releases the content, so that the next call reads the files again. */
void texts_forget(Texts *texts);

#endif
