/* ladder.h - the rungs of a plan, trained one after another and compared. */
#ifndef TRIL_PROGRAMS_TRAIN_LADDER_H
#define TRIL_PROGRAMS_TRAIN_LADDER_H

#include "programs/train/plan.h"

/* Trains the rungs, or takes their results from the resumed state, and prints the table of losses.
 * First renames the folder of an earlier run. At the end writes the page and, for the whole ladder,
 * the table. An interruption ends the training early but in good order. Releases the plan's state
 * and trains its model. Fails where train_rung fails, without memory and, at the end, if a file
 * could not be written. */
bool ladder_train(Plan *plan, Error *err);

#endif
