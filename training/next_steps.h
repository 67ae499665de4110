/* next_steps.h - what a person can do after a training, as commands to paste. */
#ifndef TRIL_TRAINING_NEXT_STEPS_H
#define TRIL_TRAINING_NEXT_STEPS_H

#include "training/plan.h"

/* Prints them. If training the model has begun (`trained`): to read what it writes, to see its page
 * if that was written, to train it further. If a person interrupted the training: to go on. */
void show_next_steps(const Plan *plan, bool trained, bool page);

#endif
