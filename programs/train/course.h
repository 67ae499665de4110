/* course.h - the course of a rung's training: rows of its steps, in memory and as a CSV file. */
#ifndef TRIL_PROGRAMS_TRAIN_COURSE_H
#define TRIL_PROGRAMS_TRAIN_COURSE_H

#include "base/digest.h"
#include "base/error.h"
#include "programs/report/glyph.h"

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
    double sum;                 /* sum of the training losses so far; set by course_add */
    char sample[SAMPLE_SIZE];   /* the line of UTF-8 that the model generated, or empty */
} LogRow;

/* ---- the log ---- */

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

void log_row(Log *log, const LogRow *row);

/* True for the steps that always have a row: each up to step 10,000, every second from there on,
 * every fourth from 20,000 on, and so on. A day of tiny steps then takes a few megabytes. */
bool log_has_row(int step);

/* Flushes the rows so far. Returns false if some of them could not be written. */
bool log_flush(Log *log);

/* Closes the log, if it is open. */
void log_close(Log *log);

/* ---- the course ---- */

enum {
    COURSE_KEPT = 300,             /* most rows with an evaluation, and most without */
    COURSE_ROWS = 2 * COURSE_KEPT, /* at most */
    COURSE_INTERVAL = 20           /* steps with a row, at least */
};

typedef struct {
    int step;
    double loss;       /* mean training loss since the evaluation before, if there were steps */
    double validation; /* loss on the held-out text */
} Evaluation;

/* An interval of steps. Its mean is the training loss without most of the randomness of single
 * batches. Small batches need a longer one. */
typedef struct {
    double mean;
    double deviation; /* standard deviation of a row's loss */
    double noise;     /* standard deviation of such a mean */
    int step;         /* its last one */
} Interval;

/* A training loss that became higher. */
typedef struct {
    int step;
    double from, to; /* the lower loss, and that at `step` */
    double rate;     /* the learning rate */
} Rise;

/* Initialize with {0}. */
typedef struct {
    LogRow rows[COURSE_ROWS]; /* the first, the last, and evenly spaced ones of each kind */
    int count;
    struct {
        int kept, seen, every; /* every n-th is kept; at first each */
    } kinds[2];                /* the rows without and with an evaluation */
    int steps;
    double characters;       /* read by the training in these steps */
    double compute;          /* floating-point operations in these steps, if known */
    Evaluation last, before; /* the last evaluation and the one before it */
    Evaluation lowest;       /* the one with the lowest loss */
    int since_lowest;        /* evaluations after it */
    double second_loss;      /* Evaluation.loss of the second evaluation */
    double loss_sum;         /* sum of the training losses since the last evaluation */
    int loss_count;
    /* the training loss */
    int start; /* the step before its first row */
    double sum;
    double interval_sum, interval_squares; /* sums over the rows in the present interval */
    double interval_begin;                 /* characters before it */
    int in_interval;
    Interval interval, floor; /* the last full interval, and the one with the lowest mean */
    Rise rise;                /* the highest of an interval's mean above the floor of its time */
    Rise spike; /* the last row with a loss far above the mean of the interval before; its rate is
                   the highest at a spike */
    int spikes; /* their number */
    bool ended; /* the training has ended as planned; the owner sets it */
} Course;

/* Adds the next row. */
void course_add(Course *course, const LogRow *row);

/* Adds the rows of the log at `path`, if it is a regular file. Skips other lines. */
void course_read(Course *course, const char *path);

/* Adds the evaluation of a trained model before its first step, which is not in the log. */
void course_begin(Course *course, double validation);

/* Returns by how much the loss fell between these shares of the steps: the validation loss or, with
 * too few evaluations, the training loss; unknown with too few steps. */
double course_fall(const Course *course, double from, double to);

/* Returns the validation loss after `step` steps, interpolated; unknown before the first one. */
double course_validation(const Course *course, double step);

#endif
