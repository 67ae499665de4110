/* files.h - every file that a training reads or writes, by its path. */
#ifndef TRIL_PROGRAMS_TRAIN_FILES_H
#define TRIL_PROGRAMS_TRAIN_FILES_H

#include "programs/train/request.h"

enum { PATH_SIZE = 1024 };

typedef struct {
    const char *text, *init, *teacher; /* to read; borrowed; NULL without --init, --teacher */
    const char *names[MAX_RUNGS];      /* the rungs */
    int rungs;
    char checkpoints[MAX_RUNGS][PATH_SIZE]; /* that of --model: --out; the others beside it */
    char logs[MAX_RUNGS][PATH_SIZE]; /* beside NAME.safetensors as NAME.csv, unless --log says */
    char state[PATH_SIZE];           /* the state of the training: NAME.last.safetensors */
    char page[PATH_SIZE];            /* report.html beside --out */
    char table[PATH_SIZE];           /* ladder.csv beside --out; empty without --ladder */
} Files;

/* Makes the paths of a training's files. Refused: a path that is too long, no memory. The caller
 * releases *files with files_free; on failure it is NULL. */
bool files_name(Files **files, const Request *request, Error *err);
void files_free(Files *files);

/* Writes the path of the state that belongs to the checkpoint `out`. Refused: a path that is too
 * long. */
bool files_state(const char *out, char path[PATH_SIZE], Error *err);

#endif
