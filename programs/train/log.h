/* log.h - the log of a rung's training: a CSV file with a row for each step, or for some of many.
 */
#ifndef TRIL_PROGRAMS_TRAIN_LOG_H
#define TRIL_PROGRAMS_TRAIN_LOG_H

#include "base/digest.h"
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

/* A log that is being written. */
typedef struct {
    FILE *file;    /* owned */
    size_t length; /* bytes written so far */
    Digest digest; /* digest of the bytes written so far */
} Log;

/* The log's unit of operations. */
#define TERA 1e12

/* Creates a log at `path`, in place of an existing file. If the new file cannot be written, fails
 * and leaves that one alone. */
bool log_create(Log *log, const char *path, Error *err);

/* Continues the log at `path` after its first `length` bytes, which must have this digest. If the
 * digest differs, or if anything but rows follows, the file was changed or is another one: returns
 * false and leaves it alone. */
bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest);

/* Writes the row, and rounds it to the digits in the log: a page is then the same after resuming,
 * which reads the log. */
void log_row(Log *log, LogRow *row);

/* True for the steps that always have a row: each up to step 10,000, every second from there on,
 * every fourth from 20,000 on, and so on. A day of tiny steps then takes a few megabytes. */
bool log_has_row(int step);

/* Flushes the rows so far. Returns false if some of them could not be written. */
bool log_flush(Log *log);

/* Closes the log, if it is open. */
void log_close(Log *log);

/* Reads the next row of a log, and skips all other lines. Returns false at the end of the file. */
bool log_read(FILE *log, LogRow *row);

#endif
