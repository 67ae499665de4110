/* verdict.h - what a training's figures mean: what went wrong or was too short, and what to do. */
#ifndef TRIL_PROGRAMS_TRAIN_VERDICT_H
#define TRIL_PROGRAMS_TRAIN_VERDICT_H

#include "programs/train/plan.h"

enum { VERDICT_SIZE = 400, LONGER_SIZE = 64 };

typedef enum {
    OVERFITTING, /* these two also appear while the rung still trains */
    RATE_TOO_HIGH,
    TEXT_TOO_SHORT,
    NOT_COMPARABLE, /* from here on, more steps would lower the loss */
    TOO_FEW_STEPS,
    STILL_FALLING
} VerdictKind;

typedef struct {
    const char *rung; /* its name; borrowed from the result */
    VerdictKind kind;
    int step;                /* where it begins: of OVERFITTING, the step of the model that was
                                kept; 0: nowhere */
    char text[VERDICT_SIZE]; /* one to three sentences, in UTF-8 */
} Verdict;

/* Sets `verdicts` to those that `results` deserve, in the order of the rungs, and returns how many:
 * at most one for each rung. `results` begin with the counted baselines. A result whose course has
 * not ended gets only the verdicts that appear while it trains. */
int verdicts_of(const Plan *plan, const Result *results, int count, Verdict verdicts[MAX_RUNGS]);

/* True if a verdict says that more steps would lower the rung's loss. */
bool verdict_asks_for_more(const Verdict *verdicts, int count, const char *rung);

/* Writes the options that train `result` twice as long, "--steps 800". Returns false if that would
 * not help: a verdict says something else, the last evaluations were not the lowest, or the text
 * would be seen more often than helps. */
bool verdict_further(const Plan *plan, const Result *result, const Verdict *verdicts, int count,
                     char options[LONGER_SIZE]);

/* Returns the peak learning rate to try after `rate` was too high: the rung's default, or a third
 * of `rate` if that is less. */
double verdict_lower_rate(const char *rung, double rate);

#endif
