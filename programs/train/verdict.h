/* verdict.h - finds faults in the figures of a training run, and says how to mend them. */
#ifndef TRIL_PROGRAMS_TRAIN_VERDICT_H
#define TRIL_PROGRAMS_TRAIN_VERDICT_H

#include "programs/train/plan.h"

/* In trials the default model learned more than pairs from these many. */
enum { ENOUGH_CHARACTERS = 4000 };

/* Sets the verdicts of `results`, at most one for each rung. `results` begin with the counted
 * baselines, unless there is only one. A result whose course has not ended gets only the verdicts
 * that appear while it trains. */
void verdicts_judge(const Plan *plan, Result *results, int count);

/* Returns the peak learning rate to try after `rate` was too high: the usual one, or a third of
 * `rate` if that is less. */
double verdict_lower_rate(double usual, double rate);

#endif
