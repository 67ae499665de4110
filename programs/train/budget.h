/* budget.h - how long a rung trains: for a number of steps or for a time; and when it ends early
 * because more steps would hardly help. */
#ifndef TRIL_PROGRAMS_TRAIN_BUDGET_H
#define TRIL_PROGRAMS_TRAIN_BUDGET_H

#include "programs/train/plan.h"

enum {
    BASELINE_STEPS = 1000, /* after which a bigram is as good as the counted one, within 0.02 */
    MOST_STEPS = 1000000000
};

typedef struct {
    bool by_time;   /* limited by time, not by steps */
    double time;    /* plan_time */
    double seconds; /* for the whole rung: a share of `time` */
    int steps;      /* in all; with a time limit, an estimate from the speed so far */
    int expected;   /* `steps` at the opening */
    int max_steps;  /* with a time limit, the most steps, even if time is left: in a ladder those
                       that were announced, so that all rungs take as many */
    int eval_every; /* steps between evaluations. With a time limit there are ten, or fewer if they
                       would take more than a twentieth of the time */
    TrilOptions options; /* the rung's */
    double slower;       /* the rung's TrilChoice.slower, or 1 if its windows do not grow */
    double step;         /* the expected seconds of a step, the mean over all windows */
    double part;         /* with a time limit, the share of the held-out text that evaluations read:
                            1, or less if all of it would take too much of the time */
    double evaluation;   /* seconds of an evaluation; before the first one, as expected */
    bool measured;       /* `evaluation` was measured */
    double last_evaluation; /* Progress.seconds at the last one */
    double closing;         /* the work after the last step, in evaluations */
    double opening;         /* seconds that opening the training took; the end takes them twice */
    double other;    /* Progress.seconds that this run of the program did not spend in steps */
    double patience; /* TrilOptions.patience */
} Budget;

/* Returns the seconds for rung number `i`, of `left` seconds for it and all later rungs: such that
 * all but a baseline take as many steps. */
double budget_share(const Plan *plan, int i, double left);

/* Returns the budget of a rung after `progress`: `seconds` if the plan has a time limit. `opening`:
 * the seconds that it took to open the training, which are in progress->seconds. */
Budget budget_open(const Plan *plan, const RungPlan *rung, double seconds, double opening,
                   const Progress *progress);

/* Returns the seconds that the whole rung is expected to take, at most Budget.seconds. */
double budget_expected(const Budget *budget);

/* Returns how many of `characters` an evaluation reads; 0: all. */
size_t budget_sample(const Budget *budget, double characters);

/* Returns true if the whole budget was used up before the first step of this run of the program. */
bool budget_complete(const Budget *budget, const Progress *progress);

/* Returns true if the training should end early, after an evaluation, because there was no lower
 * loss for `patience`; never during an early decay, which is short. */
bool budget_early_stop(const Budget *budget, const Progress *progress);

/* Returns true if the rates should decay early: there was no lower loss for half of `patience`. */
bool budget_early_decay(const Budget *budget, const Progress *progress);

/* Makes the training end after `steps` steps at the latest. */
void budget_limit_steps(Budget *budget, int steps);

/* Measures the speed after a step. Returns true if no time or step is left for another. */
bool budget_used(Budget *budget, const Progress *progress);

/* Returns true if an evaluation is due after a step: at the end of the budget, not shortly before.
 */
bool budget_evaluation_due(const Budget *budget, const Progress *progress, bool used);

/* Call it after an evaluation, which may have taken longer than expected. Under a time limit,
 * returns true if fewer than 2% of the steps are left, too few for another evaluation. `used` is
 * the result of budget_used before the evaluation; if it was true, the limit is 10%. */
bool budget_nearly_used(Budget *budget, const Progress *progress, bool used);

/* Records the seconds that an evaluation took, with a sample and the saved model. */
void budget_evaluated(Budget *budget, const Progress *progress, double seconds);

/* Adds the seconds of saving the state to those of the last evaluation. */
void budget_saved(Budget *budget, double seconds);

#endif
