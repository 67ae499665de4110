/* log.h - a training's steps as CSV, one row each. */
#ifndef TRIL_LOG_H
#define TRIL_LOG_H

#include "base/error.h"

#include <stdio.h>

typedef struct {
    int step;
    double characters, seconds; /* seen and spent so far */
    double rate, loss;          /* of this step: learning rate, training loss */
    double validation;          /* NaN if there was no evaluation */
    double norm;                /* of the gradient, before clipping */
    double speed;               /* characters a second */
} LogRow;

/* Opens the log at `path`: a new one if `length` is 0, else one that goes on behind its first
 * `length` bytes, if there are so many. */
bool log_open(FILE **log, const char *path, size_t length, Error *err);

void log_row(FILE *log, const LogRow *row);

/* Hands over what was written so far; returns its bytes, 0 if they cannot be told. */
size_t log_flush(FILE *log);

#endif
