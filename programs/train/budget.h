/* budget.h - how long a rung trains: for a number of steps or for a time; and when it ends early
 * because more steps would hardly help. */
#ifndef TRIL_PROGRAMS_TRAIN_BUDGET_H
#define TRIL_PROGRAMS_TRAIN_BUDGET_H

#include "programs/train/plan.h"

enum {
    BASELINE_STEPS = 1000,   /* after which a bigram is as good as the counted one, within 0.02 */
    MOST_STEPS = 1000000000, /* of --steps */
    MOST_SECONDS = 10000000  /* of --time */
};

typedef struct {
    const Plan *plan;
    const RungPlan *rung;
    int steps;     /* in all; with a time limit, an estimate from the speed so far */
    int max_steps; /* the most, even if time is left */
    /* with a time limit */
    double seconds;    /* for the whole rung: a share of the limit */
    double slowdown;   /* the rung's TrilChoice.slowdown, or 1 if its windows do not grow */
    double evaluation; /* seconds of an evaluation and its saves, as expected until the first one */
    double closing;    /* the work after the last step, in evaluations */
    double opening;    /* seconds that opening the training took; the end takes them twice */
} Budget;

/* Returns the seconds for a rung, of `left` seconds for it and all later rungs: such that all but a
 * baseline take as many steps. */
double budget_share(const Plan *plan, const RungPlan *rung, double left);

/* Returns the expected seconds of a step of the rung, the mean over all windows. */
double budget_step(const Plan *plan, const RungPlan *rung);

/* Returns the part of the held-out text that evaluations of a rung can read in its `seconds`. */
double budget_part(const Plan *plan, const RungPlan *rung, double seconds);

/* Returns the budget of a rung after `result`: `seconds` if the plan has a time limit. `opening`:
 * the seconds that it took to open the training, which are in result->seconds. */
Budget budget_open(const Plan *plan, const RungPlan *rung, double seconds, double opening,
                   const Result *result);

/* Returns true if the rung needs no more steps: its steps or its time are used up, or --patience
 * ended it. */
bool budget_complete(const Budget *budget, const Result *result);

/* Returns true if the last evaluations, in this number of steps, brought no lower loss. Never
 * during an early cooldown, which is short. */
bool budget_stale(const Result *result, double steps);

/* Makes the training end after `steps` steps at the latest. */
void budget_limit_steps(Budget *budget, double steps);

/* Measures the speed after a step. Returns true if no time or step is left for another; under a
 * time limit, also if fewer than the share `few` of the steps are left. */
bool budget_used(Budget *budget, const Result *result, double few);

/* Returns true if an evaluation is due after a step: at the end of the budget, not shortly before;
 * every eval_every steps or, under a time limit, after each tenth of the steps, or less often if
 * evaluations would take more than a twentieth of the time. */
bool budget_evaluation_due(const Budget *budget, const Result *result, bool used);

#endif
