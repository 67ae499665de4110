/* ladder.h - the rungs of a plan, trained one after another and compared. */
#ifndef TRIL_PROGRAMS_TRAIN_LADDER_H
#define TRIL_PROGRAMS_TRAIN_LADDER_H

#include "programs/train/outputs.h"

/* Claims the plan's files (outputs_open). Call it before a text is read. The caller releases the
 * ladder with ladder_close, even on failure. */
bool ladder_open(Ladder **ladder, Plan *plan, Error *err);
void ladder_close(Ladder *ladder);

/* Trains the rungs, or takes their results from the resumed state, and prints the table of losses.
 * First moves earlier files out of the way. At the end writes the page and, for the whole ladder,
 * the table. An interruption ends the training early but in good order. Releases the plan's state
 * and trains its model. Fails if a rung needs too much memory or has had more training than the
 * plan gives, where train_rung fails, and, at the end, if a file could not be written. */
bool ladder_train(Ladder *ladder, Error *err);

#endif
