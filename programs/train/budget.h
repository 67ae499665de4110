/* budget.h - how long a rung trains: for a number of steps, or by the clock for a time; and when it
 * ends early because more steps would hardly help. */
#ifndef TRIL_PROGRAMS_TRAIN_BUDGET_H
#define TRIL_PROGRAMS_TRAIN_BUDGET_H

#include "programs/train/plan.h"

typedef struct {
    double seconds; /* for the whole rung; 0: steps count */
    double time;    /* plan_time; `seconds` is a share of it */
    int steps;      /* in all; by the clock, an estimate from the speed so far */
    int max_steps;  /* by the clock, the most steps, even if time is left */
    int eval_every; /* steps between evaluations. By the clock there are ten, or fewer if they would
                       take more than a twentieth of the time */
    double evaluation;      /* seconds */
    bool measured;          /* `evaluation` was measured, not only expected */
    double last_evaluation; /* by the clock: Progress.seconds at the last one */
    double closing;         /* the work after the last step, in evaluations */
    double patience;        /* of the options */
} Budget;

enum {
    BASELINE_STEPS = 1000 /* after which a bigram is as good as the counted one, within 0.02 */
};

/* Returns the budget of a rung after `progress`. `seconds` is 0 if steps count. */
Budget budget_open(const Plan *plan, const RungFiles *rung, double seconds,
                   const Progress *progress);

/* Before the first step of this run of the program: was the whole budget used up before? */
bool budget_complete(const Budget *budget, const Progress *progress);

/* After an evaluation: should the training end early, because there was no lower loss for
 * `patience`? Not during an early decay, which is short. */
bool budget_early_stop(const Budget *budget, const Progress *progress);

/* After an evaluation: should the rates decay early, because there was no lower loss for half as
 * long? */
bool budget_early_decay(const Budget *budget, const Progress *progress);

/* Makes the training end after `steps` steps at the latest. */
void budget_limit_steps(Budget *budget, int steps);

/* After a step: is the budget used up, with no time or step left for another? Also measures the
 * speed. */
bool budget_used(Budget *budget, const Progress *progress);

/* After a step: is an evaluation due? It is if the budget is used up, and is not shortly before. */
bool budget_evaluation_due(const Budget *budget, const Progress *progress, bool used);

/* Before the first evaluation: sets the seconds that it is expected to take. */
void budget_expect(Budget *budget, double seconds);

/* After an evaluation: sets the seconds that it took. */
void budget_evaluated(Budget *budget, const Progress *progress, double seconds);

#endif
