/* log.h - the course of a rung's training: its log, a CSV file with a row for each step, or for
 * some of many; and the history of its losses. */
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

/* The first row, the last, and evenly spaced ones between. */
enum { COURSE_KEPT = 300 };
typedef struct {
    LogRow rows[COURSE_KEPT];
    int count;
    int seen, every; /* rows so far; every n-th is kept */
} Rows;

typedef struct {
    int step;
    double loss;       /* mean training loss since the evaluation before; of one before the first
                          step, until the next */
    double noise;      /* the standard deviation of that mean; infinite if of too few losses */
    double validation; /* loss on the held-out text */
} Evaluation;

/* Initialize with {0}. */
typedef struct {
    Rows all, evaluated;                    /* all rows, and those with a validation loss */
    LogRow row;                             /* the last one */
    Evaluation last, before, lowest, floor; /* the last two, and those with the lowest loss on the
                                               held-out text and in training */
    int since_lowest;                       /* evaluations after the lowest */
    double peak;                            /* the highest learning rate since the floor */
    double loss_sum, loss_squares; /* sums of the training losses since the last evaluation */
    int loss_count;
} Course;

/* The log's unit of operations. */
#define TERA 1e12

/* Opens the log of a run at `path` after the row of `step`, and creates it if it is missing. Adds
 * the rows so far to the course; later rows are removed, because they will be written again. Fails,
 * and leaves the file alone, if it has any other line. Of several processes only the first has a
 * file, and the rows so far. The caller closes *log with fclose. */
bool log_open(FILE **log, const char *path, int step, Course *course, Error *err);

/* Writes the row, and rounds it to the digits in the log: a page is then the same after resuming,
 * which reads the log. */
void log_row(FILE *log, LogRow *row);

/* True for the steps that always have a row: each up to step 10,000, every second from there on,
 * every fourth from 20,000 on, and so on. A day of tiny steps then takes a few megabytes. */
bool log_has_row(int step);

/* Flushes the rows so far. Returns false if some of them could not be written. */
bool log_flush(FILE *log);

/* Adds the next row. That of step 0, the evaluation of a trained model, has no training loss, and
 * is not in the log. */
void course_add(Course *course, const LogRow *row);

/* Adds the rows of the log at `path`, if it is a regular file, and skips all other lines. */
void course_read(Course *course, const char *path);

/* Returns the last validation loss in a share of the steps; NaN before the first one. */
double course_validation(const Course *course, double share);

#endif
