/* ladder.h - the rungs of a plan, trained one after another and compared. */
#ifndef TRIL_PROGRAMS_TRAIN_LADDER_H
#define TRIL_PROGRAMS_TRAIN_LADDER_H

#include "programs/train/outputs.h"
#include "programs/train/start.h"

/* Trains the rungs, or takes their results from the state of an earlier run, and prints the table
 * of losses. First moves earlier files out of the way. At the end writes the report and, for the
 * whole ladder, the table. An interruption ends it early and in good order. Releases the state of
 * `start` and trains its model; the caller still frees it. Refused: too little memory for a rung;
 * what train_rung refuses; at the end, a file that could not be written. */
bool ladder_train(const Plan *plan, const Input *input, Outputs *outputs, Start *start, Error *err);

#endif
