/* next_steps.h - what a person can do after a training, as commands to paste. */
#ifndef TRIL_PROGRAMS_TRAIN_NEXT_STEPS_H
#define TRIL_PROGRAMS_TRAIN_NEXT_STEPS_H

#include "programs/train/plan.h"

/* Prints the commands. If the training of the model has begun (`trained`): to sample from it, to
 * see its report if it was written (`page`), to train it further with the options `longer` (NULL:
 * that would not help). If a person interrupted the training: to resume it. */
void show_next_steps(const Plan *plan, bool trained, bool page, const char *longer);

#endif
