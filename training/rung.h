/* rung.h - the training of one rung, from its first step to its line in the table. */
#ifndef TRIL_TRAINING_RUNG_H
#define TRIL_TRAINING_RUNG_H

#include "training/outputs.h"
#include "training/saving.h"

typedef struct {
    const Settings *settings;
    const Corpus *corpus;
    const char *name;      /* the rung */
    Checkpoint *start;     /* its weights are the first ones; NULL: random ones are */
    const char *path;      /* where its checkpoint goes */
    const char *log;       /* where its log goes */
    double seconds;        /* that it may take, with those spent on it before; 0: steps count */
    const char *state;     /* where the last state goes; NULL: nowhere */
    Outputs *outputs;      /* among which all these files are */
    Error *failed;         /* gets the first sentence about a file that could not be written */
    const Result *results; /* of the rungs before, for the state */
    int result_count;
} Task;

/* Is there memory enough to train the rung, or to go on from a state of it? If not, says how much
 * it takes; the files of the task need not be known yet. */
bool check_memory(const Task *task, bool resumed, Error *err);

/* Trains the rung from its beginning, or goes on from a state of it (NULL: there is none), which it
 * empties once it has taken it over; whoever loaded it still calls state_free. Fills `result`,
 * whose name is then the task's. Likewise a start is emptied. The state is written at every
 * evaluation and so many seconds, and when training is interrupted: then the result is that of the
 * best weights so far, NaN where nobody waited for it. A file that cannot be written does not end
 * the training: the sentence goes to task->failed. It is a failure if there is no checkpoint in the
 * end. Loss or gradient that are no longer numbers end it at once; the files keep what they had. */
bool train_rung(const Task *task, State *from, Result *result, Error *err);

#endif
