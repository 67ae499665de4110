/* log.h - the log of a rung's training: a CSV file with a row for each step, or for some of many.
 */
#ifndef TRIL_PROGRAMS_TRAIN_LOG_H
#define TRIL_PROGRAMS_TRAIN_LOG_H

#include "base/error.h"
#include "programs/glyph.h"

#include <stdio.h>

enum { SAMPLE_COLUMNS = 64, SAMPLE_SIZE = 4 * SAMPLE_COLUMNS + sizeof(Glyph) };

typedef struct {
    int step;
    double characters, seconds; /* characters seen and seconds passed so far */
    double rate;                /* learning rate in this step */
    double loss;                /* mean training loss of the steps since the row before */
    double validation;          /* loss on the held-out text, if it was evaluated */
    double norm;                /* the gradient's, before clipping */
    double speed;               /* characters a second */
    double compute;             /* floating-point operations so far, if known */
    char sample[SAMPLE_SIZE];   /* the line of UTF-8 that the model generated, or empty */
} LogRow;

/* The log's unit of operations. */
#define TERA 1e12

/* Opens the log of a run at `path` after the row of `step`, and creates it if it is missing. Later
 * rows are removed, because they will be written again. Fails, and leaves the file alone, if it has
 * any other line. The caller closes *log with fclose. */
bool log_open(FILE **log, const char *path, int step, Error *err);

/* Writes the row, and rounds it to the digits in the log: a page is then the same after resuming,
 * which reads the log. */
void log_row(FILE *log, LogRow *row);

/* True for the steps that always have a row: each up to step 10,000, every second from there on,
 * every fourth from 20,000 on, and so on. A day of tiny steps then takes a few megabytes. */
bool log_has_row(int step);

/* Flushes the rows so far. Returns false if some of them could not be written. */
bool log_flush(FILE *log);

/* Reads the next row of a log, and skips all other lines. Returns false at the end of the file. */
bool log_read(FILE *log, LogRow *row);

#endif
