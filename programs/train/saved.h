/* saved.h - reads and writes the state file of ./train: the library's state of the rung in
 * training, with metadata for the rest of the ladder. */
#ifndef TRIL_PROGRAMS_TRAIN_SAVED_H
#define TRIL_PROGRAMS_TRAIN_SAVED_H

#include "programs/train/plan.h"

/* Reads the state of plan->state_file, and sets the plan's state, options, ladder and known results
 * to those of the training to resume. Fails, leaving no state, where tril_state_load fails, and for
 * metadata that saved_write would not write. */
bool saved_load(Plan *plan, Error *err);

/* Writes the state of a training run atomically, with the plan's options, and results[count] of its
 * rungs, of which the last is in training. On failure the existing file stays. */
bool saved_write(const Plan *plan, TrilTraining *training, const Result *results, int count,
                 Error *err);

#endif
