/* verdict.h - what a training's figures mean, in words: what went wrong or was too short, and what
 * to do next. */
#ifndef TRIL_PROGRAMS_TRAIN_VERDICT_H
#define TRIL_PROGRAMS_TRAIN_VERDICT_H

#include "programs/train/saved.h"

enum { VERDICT_SIZE = 400, MAX_VERDICTS = 2 * MAX_RUNGS, LONGER_SIZE = 64 };

/* The names of verdicts are constants:
 *   "overfitting", "learning rate too high": these appear while the rung still trains, too
 *   "text too short", "too few steps", "still falling", "not comparable": at its end */
typedef struct {
    const char *rung; /* its name; borrowed from the result */
    const char *name; /* of the verdict */
    int step;         /* where it begins: with overfitting, the step of the model that was kept;
                         0: nowhere */
    bool longer;      /* it asks for more steps, which would lower the loss */
    char text[VERDICT_SIZE]; /* one to three sentences, in UTF-8, for people */
} Verdict;

/* Sets `verdicts` to those that `results` deserve, in the order of the rungs, and returns how many:
 * at most two for each rung. `results` begin with the counted baselines. A result whose course has
 * not ended gets only the verdicts that appear while it trains. */
int verdicts_of(const Plan *plan, const Input *input, const Result *results, int count,
                Verdict verdicts[MAX_VERDICTS]);

/* Does a verdict on the rung ask for more steps, which would lower its loss? */
bool verdict_asks_for_more(const Verdict *verdicts, int count, const char *rung);

/* Writes the options that train `result` twice as long, "--steps 800". Returns false if that would
 * not help: a verdict says something else, the last evaluations were not the lowest, or the text
 * would be seen more often than helps. */
bool verdict_further(const Plan *plan, const Input *input, const Result *result,
                     const Verdict *verdicts, int count, char options[LONGER_SIZE]);

/* Was the loss still falling when the training ended? No if `course` is NULL. */
bool verdict_still_falling(const Course *course);

/* The peak learning rate to try after `rate` was too high: the rung's usual one, or a third of
 * `rate` if that is less. */
double verdict_lower_rate(const char *rung, double rate);

#endif
