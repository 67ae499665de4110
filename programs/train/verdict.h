/* verdict.h - finds faults in the figures of a training run, and says how to mend them. */
#ifndef TRIL_PROGRAMS_TRAIN_VERDICT_H
#define TRIL_PROGRAMS_TRAIN_VERDICT_H

#include "programs/train/plan.h"

/* In trials, the default model needed this many characters to learn more than pairs. */
enum { ENOUGH_CHARACTERS = 4000 };

/* Sets the verdicts of the rungs, at most one for each. One that is not complete gets only those
 * that appear while it trains. */
void verdicts_judge(Ladder *ladder);

/* Returns the peak learning rate to try after `rate` was too high. */
double verdict_lower_rate(const RungPlan *rung, double rate);

#endif
