/* course.h - how the training of a rung went: what its log says, in little memory. */
#ifndef TRIL_PROGRAMS_TRAIN_COURSE_H
#define TRIL_PROGRAMS_TRAIN_COURSE_H

#include "programs/report/spark.h"
#include "programs/train/log.h"

enum {
    COURSE_EVALUATIONS = 64, /* at most; of more, every n-th and the last are kept */
    COURSE_BLOCK = 20        /* steps */
};

typedef struct {
    int step;
    double seconds;
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
    double compute;    /* and its floating-point operations; NaN: not known */
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

/* What the loss fell between these shares of the steps: the validation loss or, if there were too
 * few evaluations, the training loss; NaN if there were too few steps, too. */
double course_fall(const Course *course, double from, double to);

/* The validation loss after `step` steps, interpolated between evaluations; NaN before the first
 * one. */
double course_validation(const Course *course, double step);

#endif
