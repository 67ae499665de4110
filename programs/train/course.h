/* course.h - how the training of a rung goes: its log, a CSV file with a row for each step, and
 * what the rows say, in little memory. */
#ifndef TRIL_PROGRAMS_TRAIN_COURSE_H
#define TRIL_PROGRAMS_TRAIN_COURSE_H

#include "base/digest.h"
#include "base/error.h"
#include "programs/report/glyph.h"

#include <stdio.h>

/* ---- the log ---- */

enum { SAMPLE_COLUMNS = 64, SAMPLE_SIZE = 4 * SAMPLE_COLUMNS + sizeof(Glyph) };

typedef struct {
    int step;
    double characters, seconds; /* characters seen and seconds passed so far */
    double rate, loss;          /* of this step: learning rate, training loss */
    double validation;          /* NaN: no evaluation */
    double norm;                /* of the gradient, before clipping */
    double speed;               /* characters a second */
    double compute;             /* floating-point operations so far; NaN: unknown */
    const char *sample;         /* the line of UTF-8 that the model generated, less than SAMPLE_SIZE
                                   bytes, or NULL; borrowed */
} LogRow;

/* A log that is being written. */
typedef struct {
    FILE *file;    /* owned; NULL: closed */
    size_t length; /* bytes written so far, */
    Digest digest; /* and their digest */
} Log;

/* Operations are written in units of as many. */
#define TERA 1e12

/* The first line of every log. */
#define LOG_HEADING \
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n"

/* Creates a log at `path`, in place of an existing file. Fails if the file cannot be created or
 * written. */
bool log_create(Log *log, const char *path, Error *err);

/* Continues the log at `path` after its first `length` bytes, which must have this digest. Returns
 * false, and leaves the file alone, if the digest differs or if something other than rows follows:
 * somebody changed the file, or it is another one. */
bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest);

void log_row(Log *log, const LogRow *row);

/* Flushes the rows so far; false if some of them could not be written. */
bool log_flush(Log *log);

/* Closes the log, if it is open. */
void log_close(Log *log);

/* The rows that are read back: about LOG_KEPT at most, evenly spaced, with the first and the last;
 * and as many with an evaluation, chosen likewise. */
enum { LOG_KEPT = 300, LOG_ROWS = 2 * LOG_KEPT + 4 };

typedef struct {
    LogRow rows[LOG_ROWS]; /* their samples are NULL or in `texts` */
    char texts[LOG_ROWS][SAMPLE_SIZE];
    int count;
} LogRows;

/* Reads the log at `path`. Skips lines that are not rows; a path that is not a regular file has no
 * rows. */
void log_read(LogRows *log, const char *path);

/* ---- the curve of the training loss ---- */

enum { SPARK_COLUMNS = 16, SPARK_SIZE = 3 * SPARK_COLUMNS + 1 };

/* A loss curve as one word, ▇▅▃▂▂▁▁▁. Each column is the mean of equally many values. Only the last
 * may have fewer. When all columns are full, pairs are merged. Initialise with {0}. */
typedef struct {
    double sums[SPARK_COLUMNS];
    int count;   /* columns with a value */
    int in_last; /* values in the last of them */
    int each;    /* values in every other column; 0 means 1 */
} Spark;

void spark_add(Spark *spark, double value);

/* Writes the columns as blocks of eight heights, in UTF-8. The highest is the highest of the last
 * three quarters: a loss falls so far in the first steps that what follows would look flat. Writes
 * nothing if there are no values. */
void spark_text(const Spark *spark, char text[SPARK_SIZE]);

/* ---- the course ---- */

enum {
    COURSE_EVALUATIONS = 64, /* at most; of more, every n-th and the last are kept */
    COURSE_BLOCK = 20        /* steps */
};

typedef struct {
    int step;
    double loss;       /* mean training loss since the evaluation before, in nats */
    double validation; /* loss on the held-out text */
} Evaluation;

/* The mean of a block is the training loss without most of the chance of single batches. `noise` is
 * the standard deviation of such a mean. */
typedef struct {
    double mean, noise;
    int step; /* its last one */
} Block;

/* Initialise with {0}. */
typedef struct {
    Evaluation list[COURSE_EVALUATIONS]; /* oldest first, the last one included */
    int count;
    int evaluations;    /* all, the kept ones included */
    int every;          /* n; 0 means 1 */
    double lowest;      /* validation loss of all evaluations; */
    double lowest_loss; /* the training loss then, NaN before the first step; */
    int lowest_step;    /* and the step */
    int since_lowest;   /* evaluations after it */
    int steps;
    double characters; /* that the training has read in these steps, */
    double compute;    /* and its floating-point operations; NaN: unknown */
    /* the training loss, in blocks */
    double sum, squares; /* of the steps in the present block */
    int in_block;
    Block last, floor;      /* the last full block, and the one with the lowest mean */
    Block highest_rise;     /* the block that was highest above the floor of its time */
    double rise, rise_of;   /* by how much, and the floor's mean */
    double rise_rate;       /* the learning rate then */
    int spikes;             /* steps with a loss far above the block before */
    int spike_step;         /* the last of them */
    double spike, spike_of; /* its loss, and the mean of the block before */
    double spike_rate;      /* the highest learning rate at a spike */
    Spark losses;           /* the training loss of all steps, in a few columns */
    double loss_sum;        /* since the last evaluation */
    int loss_count;
    bool ended; /* the training has ended as planned; the owner sets it */
} Course;

/* Adds the next row of the log. */
void course_add(Course *course, const LogRow *row);

/* Adds the rows of the log at `path`. A file that cannot be read has none. */
void course_read(Course *course, const char *path);

/* Adds the evaluation of a trained model before its first step, which is not in the log. */
void course_begin(Course *course, double validation);

/* Returns by how much the loss fell between these shares of the steps: the validation loss or, with
 * too few evaluations, the training loss; NaN with too few steps. */
double course_fall(const Course *course, double from, double to);

/* Returns the validation loss after `step` steps, interpolated between evaluations; NaN before the
 * first one. */
double course_validation(const Course *course, double step);

#endif
