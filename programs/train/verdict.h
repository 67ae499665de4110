/* verdict.h - finds faults in the figures of a training run, and says how to mend them. */
#ifndef TRIL_PROGRAMS_TRAIN_VERDICT_H
#define TRIL_PROGRAMS_TRAIN_VERDICT_H

#include "programs/train/plan.h"

/* In trials the default model learned more than pairs from these many. */
enum { LONGER_SIZE = 64, ENOUGH_CHARACTERS = 4000 };

/* Sets the verdicts of `results`, at most one for each rung. `results` begin with the counted
 * baselines, unless there is only one. A result whose course has not ended gets only the verdicts
 * that appear while it trains. */
void verdicts_judge(const Plan *plan, Result *results, int count);

/* Returns true if the verdict says that more steps would lower the rung's loss. */
bool verdict_asks_for_more(const Result *result);

/* Writes the options that train `result` longer, such as "--steps 800". Returns false if that would
 * not help: its verdict says something else, the last evaluations were not the lowest, or the text
 * would be seen more often than helps. */
bool verdict_further(const Plan *plan, const Result *result, char options[LONGER_SIZE]);

/* Returns the peak learning rate to try after `rate` was too high: the usual one, or a third of
 * `rate` if that is less. */
double verdict_lower_rate(double usual, double rate);

#endif
