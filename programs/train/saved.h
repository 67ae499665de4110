/* saved.h - the file of a state: that of the rung in training, which the library saves, and as
 * metadata what else ./train needs to resume. */
#ifndef TRIL_PROGRAMS_TRAIN_SAVED_H
#define TRIL_PROGRAMS_TRAIN_SAVED_H

#include "programs/train/plan.h"

/* Reads the state of plan->state_file, and sets the plan's state, options, ladder, training,
 * teacher_digest, progress and known results to those of the training to resume. Fails for what
 * tril_state_load does not take and for metadata that saved_write does not write. On failure the
 * plan has no state. */
bool saved_load(Plan *plan, Error *err);

/* Writes the state of a training atomically, with its progress, the plan's options, and
 * results[count] of the rungs before, at most MAX_RUNGS. On failure the existing file stays. */
bool saved_write(const Plan *plan, TrilTraining *training, const Progress *progress,
                 const Result *results, int count, Error *err);

#endif
