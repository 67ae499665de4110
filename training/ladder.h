/* ladder.h - the rungs of a plan, trained one after another and compared. */
#ifndef TRIL_TRAINING_LADDER_H
#define TRIL_TRAINING_LADDER_H

#include "training/outputs.h"
#include "training/start.h"

/* Trains the rungs, or takes over what the state of an earlier run says of them, and prints the
 * table of losses. Begins by moving earlier files out of the way; ends by writing the page and, for
 * the whole ladder, the table. An interruption ends it early, and in good order. Empties `start`,
 * which the caller still frees. Refused: too little memory for a rung; what train_rung refuses; at
 * the end, a file that could not be written. */
bool ladder_train(const Plan *plan, const Corpus *corpus, Outputs *outputs, Start *start,
                  Error *err);

#endif
