/* log.h - a training's steps as CSV, one row each. */
#ifndef TRIL_LOG_H
#define TRIL_LOG_H

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

/* Opens the log at `path`: a new one if `length` is 0, else one that goes on behind its first
 * `length` bytes, if there are so many. */
bool log_open(FILE **log, const char *path, size_t length, Error *err);

void log_row(FILE *log, const LogRow *row);

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

/* Hands over what was written so far; returns its bytes, 0 if they cannot be told. */
size_t log_flush(FILE *log);

#endif
