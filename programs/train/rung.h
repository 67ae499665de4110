/* rung.h - the training of one rung, from its first step to its line in the table. */
#ifndef TRIL_PROGRAMS_TRAIN_RUNG_H
#define TRIL_PROGRAMS_TRAIN_RUNG_H

#include "programs/train/outputs.h"
#include "programs/train/report.h"
#include "programs/train/saved.h"

typedef struct {
    const Plan *plan;
    const RungFiles *rung;
    const Input *input;
    Outputs *outputs;
    Report *report;
    Course *course;        /* empty; set to how the training goes */
    TrilModel *init;       /* the model to begin from, which it trains; NULL: random weights */
    double seconds;        /* the most seconds, earlier runs included; 0: steps count */
    bool keeps_state;      /* its last state is written */
    const Result *results; /* [result_count], of the rungs before, for the state */
    int result_count;
    Error *failed; /* set to the first message about a file that could not be written */
} Task;

/* Trains the rung from its beginning, or continues from its state (NULL: there is none), which it
 * releases once it is copied. Sets *result.
 *
 * The state is written at every evaluation, every --save-every seconds, and when the user
 * interrupts the training: then the result is that of the best weights so far, NaN if the person
 * did not wait for an evaluation. A file that cannot be written does not end the training: the
 * message goes to task->failed. Refused: a loss or gradient that is no longer a number, which ends
 * the training at once and leaves the files as they are; a training that already took more than its
 * budget; no checkpoint at the end. */
bool train_rung(const Task *task, Saved *from, Result *result, Error *err);

#endif
