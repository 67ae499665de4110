/* measuring.h - the losses of a training's best checkpoint. */
#ifndef TRIL_PROGRAMS_TRAIN_MEASURING_H
#define TRIL_PROGRAMS_TRAIN_MEASURING_H

#include "programs/train/saved.h"

/* Measures the best checkpoint of the rung, read back from its file, in float32: the loss on the
 * held-out text, and on at most TRAIN_BATCHES batches from all over the training text. `known` is
 * the held-out loss if the evaluation that saved the checkpoint measured it in the same way; else
 * NaN. A person may not wait: then the held-out loss is the one in the file, and the other NaN.
 * Sets the losses, parameters and digest of *result. Refused: a checkpoint that cannot be read or
 * is not of the rung, too little memory. */
bool measure_best(const Plan *plan, const RungPlan *rung, const Input *input, double known,
                  Result *result, Error *err);

#endif
