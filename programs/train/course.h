/* course.h - the course of a rung's training: the history of its losses. */
#ifndef TRIL_PROGRAMS_TRAIN_COURSE_H
#define TRIL_PROGRAMS_TRAIN_COURSE_H

#include "programs/train/log.h"

enum { COURSE_KEPT = 300 };

/* The first row, the last, and evenly spaced ones between. */
typedef struct {
    LogRow rows[COURSE_KEPT];
    int count;
    int seen, every; /* rows so far; every n-th is kept */
} Rows;

typedef struct {
    int step;
    double loss;       /* mean training loss since the evaluation before; of one before the first
                          step, until the next */
    double noise;      /* the standard deviation of that mean */
    double validation; /* loss on the held-out text */
} Evaluation;

/* Initialize with {0}. */
typedef struct {
    Rows all, evaluated; /* all rows, and those with a validation loss */
    int steps;
    double characters;                      /* read by the training in these steps */
    double compute;                         /* floating-point operations in these steps, if known */
    Evaluation last, before, lowest, floor; /* the last two, and those with the lowest loss on the
                                               held-out text and in training */
    double peak;                            /* the highest learning rate since the floor */
    int since_lowest;                       /* evaluations after the lowest */
    double loss_sum, loss_squares; /* sums of the training losses since the last evaluation */
    int loss_count;
    bool ended; /* the training has ended as planned; the owner sets it */
} Course;

/* Adds the next row. */
void course_add(Course *course, const LogRow *row);

/* Adds the rows of the log at `path`, if it is a regular file. */
void course_read(Course *course, const char *path);

/* Adds the evaluation of a trained model before its first step, which is not in the log. */
void course_begin(Course *course, double validation);

/* Returns the last validation loss in a share of the steps; NaN before the first one. */
double course_validation(const Course *course, double share);

#endif
