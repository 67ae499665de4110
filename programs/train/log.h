/* log.h - a training's steps as CSV, one row each. */
#ifndef TRIL_PROGRAMS_TRAIN_LOG_H
#define TRIL_PROGRAMS_TRAIN_LOG_H

#include "base/digest.h"
#include "base/error.h"
#include "programs/train/sample.h"

#include <stdio.h>

typedef struct {
    int step;
    double characters, seconds; /* characters seen and seconds passed so far */
    double rate, loss;          /* of this step: learning rate, training loss */
    double validation;          /* NaN: no evaluation */
    double norm;                /* of the gradient, before clipping */
    double speed;               /* characters a second */
    double compute;             /* floating-point operations so far; NaN: not known */
    const char *sample;         /* the line of UTF-8 that the model generated then, or NULL;
                                   borrowed. In the file an apostrophe precedes what a spreadsheet
                                   would take for a formula */
} LogRow;

/* A log that is being written. */
typedef struct {
    FILE *file;    /* owned; NULL: it is closed */
    size_t length; /* bytes written so far, */
    Digest digest; /* and their digest */
} Log;

/* Operations are written in units of as many. */
#define TERA 1e12

/* The first line of every log. */
#define LOG_HEADING \
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n"

/* Creates a log at `path`, in place of an existing file. log_close releases it. Refused: a file
 * that cannot be created or written. */
bool log_create(Log *log, const char *path, Error *err);

/* Continues the log at `path` after its first `length` bytes, which must have this digest.
 * log_close releases it. False if the digest differs, or if something other than rows follows: then
 * the file was changed, or is another one, and is left alone. */
bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest);

/* Adds a row. */
void log_row(Log *log, const LogRow *row);

/* Flushes what was written so far; false if some of it could not be written. */
bool log_flush(Log *log);

/* Closes the log, if it is open. */
void log_close(Log *log);

/* What is read back from a log: about LOG_KEPT rows at most, evenly spaced, with the first and the
 * last; and as many rows with an evaluation, chosen in the same way. */
enum { LOG_KEPT = 300, LOG_ROWS = 2 * LOG_KEPT + 4 };

typedef struct {
    LogRow rows[LOG_ROWS]; /* their samples are NULL or in `texts` */
    char texts[LOG_ROWS][SAMPLE_SIZE];
    int count;
} LogRows;

/* Calls `take` with each row of the log at `path`, in order; the row's sample is valid until it
 * returns. Skips lines that are not rows; a path that is not a regular file has no rows. */
void log_each(const char *path, void (*take)(void *context, const LogRow *row), void *context);

/* Reads the log at `path`. Skips lines that are not rows; a path that is not a regular file has no
 * rows. */
void log_read(LogRows *log, const char *path);

#endif
