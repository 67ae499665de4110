/* ladder.h - the rungs of a plan, trained one after another and compared. */
#ifndef TRIL_PROGRAMS_TRAIN_LADDER_H
#define TRIL_PROGRAMS_TRAIN_LADDER_H

#include "programs/train/outputs.h"

/* Trains the rungs, or takes their results from the state that is resumed, and prints the table of
 * losses. First moves earlier files out of the way. At the end writes the page and, for the whole
 * ladder, the table. An interruption ends it early and in good order. Releases the plan's state and
 * trains its model. Fails for too little memory for a rung, less training than a rung has had, what
 * train_rung fails for and, at the end, a file that could not be written. */
bool ladder_train(Plan *plan, Outputs *outputs, Error *err);

#endif
