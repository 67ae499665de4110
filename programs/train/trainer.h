/* trainer.h - the training of one rung, from its first step to its line in the table. */
#ifndef TRIL_PROGRAMS_TRAIN_TRAINER_H
#define TRIL_PROGRAMS_TRAIN_TRAINER_H

#include "programs/train/plan.h"

/* Trains a rung for its steps or, under a time limit, for `seconds`, earlier runs included. Its
 * result is the last one of the ladder. A rung that is resumed continues from the plan's state,
 * which is released once it is copied; another one begins with the model of --init, if it is
 * --model, or with random weights.
 *
 * If `keeps_state`, writes the state at every evaluation, each minute, and after an interruption.
 * The result of an interrupted training run is that of the best weights so far; if the user did not
 * wait, its training loss is unknown, and its held-out loss is the saved one, if any. A file that
 * cannot be written does not end the training: the message goes to `failed`. A loss or gradient
 * that is not finite is an error that ends the training at once and leaves the files as they are.
 * Also fails if there is no checkpoint at the end. */
bool train_rung(Ladder *ladder, const RungPlan *rung, double seconds, bool keeps_state, Error *err);

#endif
