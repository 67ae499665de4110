/* budget.h - how long a rung trains: for a number of steps or, by the clock, for as many as fit
 * into a time; and when it ends early because more steps would hardly help. */
#ifndef TRIL_TRAINING_BUDGET_H
#define TRIL_TRAINING_BUDGET_H

#include "training/saving.h"

typedef struct {
    double seconds; /* for all that the rung does; 0: steps count */
    double time;    /* Plan.time, of which they are a share */
    int steps;      /* in all; by the clock, as many as the speed so far lets expect */
    int max_steps;  /* by the clock not more than these, however much time is left */
    int eval_every; /* steps between evaluations. By the clock there are ten, or fewer if they would
                       take more than a twentieth of the time */
    double evaluation;      /* the seconds of an evaluation, */
    bool measured;          /* as measured; else as expected */
    double last_evaluation; /* by the clock: Progress.seconds at the last one */
    double closing;         /* the work after the last step, in evaluations */
    double patience;        /* Plan.patience */
} Budget;

/* The budget of a rung that has come as far as `progress`. `seconds` is 0 if steps count. */
Budget budget_open(const Plan *plan, double seconds, int max_steps, double closing,
                   const Progress *progress);

/* Before the first step of this run of the program: was the whole budget used before? */
bool budget_complete(const Budget *budget, const Progress *progress);

/* After an evaluation: has there been no lower loss for so long that there will hardly be one? Not
 * during an early decay, which does not take long. */
bool budget_early_stop(const Budget *budget, const Progress *progress);

/* The same after half as long: is it time for an early decay of the rates? */
bool budget_early_decay(const Budget *budget, const Progress *progress);

/* From now on the training ends after this step at the latest. */
void budget_limit_steps(Budget *budget, int steps);

/* After a step: is the budget used up, so that there is no time or step left for another? Also
 * measures the speed. */
bool budget_used(Budget *budget, const Progress *progress);

/* After a step: is an evaluation due? It is if the budget is used up. */
bool budget_evaluation_due(const Budget *budget, const Progress *progress, bool used);

/* Before the first evaluation: how many seconds it will take, about. */
void budget_expect(Budget *budget, double seconds);

/* After an evaluation: how many seconds it took. */
void budget_evaluated(Budget *budget, const Progress *progress, double seconds);

#endif
