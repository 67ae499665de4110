/* log.h - a training's steps as CSV, one row each. */
#ifndef TRIL_LOG_H
#define TRIL_LOG_H

#include "base/digest.h"
#include "base/error.h"
#include "training/excerpt.h"

#include <stdio.h>

typedef struct {
    int step;
    double characters, seconds; /* seen and spent so far */
    double rate, loss;          /* of this step: learning rate, training loss */
    double validation;          /* NaN if there was no evaluation */
    double norm;                /* of the gradient, before clipping */
    double speed;               /* characters a second */
    const char
        *excerpt; /* what the model wrote then, a line of UTF-8, or NULL. In the file one that
                     a spreadsheet would take for a formula stands behind an apostrophe */
} LogRow;

/* A log that is being written, and the digest of all its bytes so far. */
typedef struct {
    FILE *file; /* owned; NULL: it is closed */
    size_t length;
    Digest digest;
} Log;

/* The first line of every log. */
#define LOG_HEADING \
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample\n"

/* Creates a log; a file that is there is replaced. */
bool log_create(Log *log, const char *path, Error *err);

/* Goes on with the log at `path` behind its first `length` bytes, whose digest is given. False, and
 * nothing is changed, if these are not the bytes of that log, or if anything but further rows comes
 * after them: then the file has been changed since, or is another one. */
bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest);

/* Adds a row. */
void log_row(Log *log, const LogRow *row);

/* Hands over what was written so far; false if some of it could not be written. */
bool log_flush(Log *log);

/* Closes the log, if it is open. */
void log_close(Log *log);

/* What is read back of a log: its first, its last, and as many rows between them as there is room
 * for, evenly chosen; and as many of those with an evaluation. */
enum { LOG_KEPT = 300, LOG_ROWS = 2 * LOG_KEPT + 4 };

typedef struct {
    LogRow rows[LOG_ROWS]; /* their excerpts are NULL or in `texts` */
    char texts[LOG_ROWS][EXCERPT_ROOM];
    int count;
} LogRows;

/* Reads the log at `path`; what is not a regular file has no rows, and what is no row is passed
 * over. */
void log_read(LogRows *log, const char *path);

#endif
