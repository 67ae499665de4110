/* trainer.h - the training of one rung, from its first step to its line in the table. */
#ifndef TRIL_PROGRAMS_TRAIN_TRAINER_H
#define TRIL_PROGRAMS_TRAIN_TRAINER_H

#include "programs/train/display.h"
#include "programs/train/outputs.h"
#include "programs/train/report.h"

enum { CLOSED_FORMS = 4 };

/* The rungs of a plan, trained one after another. */
typedef struct {
    Plan *plan; /* borrowed, as are the next two */
    Outputs *outputs;
    Report *report;
    Result results[CLOSED_FORMS + MAX_RUNGS]; /* the closed forms, then the rungs trained so far */
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* the rungs', at their indices in `results` */
    int count;
    Error failed;     /* the first error of writing a file, or empty */
    char counted[24]; /* the name of the last closed form */
} Ladder;

/* Trains a rung for its steps or, under a time limit, for `seconds`, earlier runs included. Sets
 * the result at `count`. If `resumes`, continues from the plan's state, which it releases once it
 * is copied; else begins with the model of --init, if the rung is --model, or with random weights.
 *
 * If `keeps_state`, writes the state at every evaluation, every --save-every seconds, and after an
 * interruption. The result of an interrupted training run is that of the best weights so far; its
 * losses are unknown if the user did not wait for an evaluation. A file that cannot be written does
 * not end the training: the message goes to `failed`. A loss or gradient that is not finite is an
 * error that ends the training at once and leaves the files as they are. Also fails if there is no
 * checkpoint at the end. */
bool train_rung(Ladder *ladder, const RungFiles *rung, double seconds, bool resumes,
                bool keeps_state, Error *err);

#endif
