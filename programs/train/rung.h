/* rung.h - the training of one rung, from its first step to its line in the table. */
#ifndef TRIL_PROGRAMS_TRAIN_RUNG_H
#define TRIL_PROGRAMS_TRAIN_RUNG_H

#include "programs/train/display.h"
#include "programs/train/outputs.h"
#include "programs/train/report.h"

enum { CLOSED_FORMS = 3 };

/* The rungs of a plan, trained one after another. */
typedef struct {
    Plan *plan; /* borrowed, as are these two */
    Outputs *outputs;
    Report *report;
    Result results[CLOSED_FORMS + MAX_RUNGS]; /* the closed forms, then the rungs trained so far */
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* of the rungs, by their places in `results` */
    int count;
    Error failed;    /* the first message about a file that could not be written; empty: none */
    Stopwatch watch; /* of the whole program, with --profile */
} Ladder;

/* Trains a rung for `seconds`, earlier runs included (0: steps count), and sets the result at
 * `count`. If `resumes`, it continues from the plan's state, which it releases once it is copied;
 * else it begins with the model of --init, if the rung is --model, or with random weights.
 *
 * If `keeps_state`, it writes the state at every evaluation, every --save-every seconds, and when
 * the user interrupts the training: then the result is that of the best weights so far, NaN if the
 * user did not wait for an evaluation. A file that cannot be written does not end the training: the
 * message goes to `failed`. Fails for a loss or gradient that is no longer a number, which ends the
 * training at once and leaves the files as they are, and if there is no checkpoint at the end. */
bool train_rung(Ladder *ladder, const RungFiles *rung, double seconds, bool resumes,
                bool keeps_state, Error *err);

#endif
