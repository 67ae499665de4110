/* ladder.h - which rungs are trained, one after another, and what comes out, side by side. */
#ifndef TRIL_LADDER_H
#define TRIL_LADDER_H

#include "training/outputs.h"
#include "training/saving.h"

/* The rungs to train, lowest first: all of them, or the bigram and the chosen one. Returns how
 * many. */
int ladder_plan(const Settings *settings, const char *names[MAX_RUNGS]);

/* Trains them, each to a checkpoint: the model that was asked for at --out, the others beside it.
 * Goes on from `state`, or begins if it holds none, and releases it; the model that was asked for
 * then begins as `start`, if that is not NULL, which is emptied. `outputs` were settled for these
 * rungs; what is in their way is set aside. Prints the table and, of the
 * whole ladder, writes it as ladder.csv beside the checkpoints. An interruption ends it early, and
 * in good order. */
bool ladder_train(const Settings *settings, const Corpus *corpus, Outputs *outputs, State *state,
                  Checkpoint *start, Error *err);

#endif
