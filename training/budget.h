/* budget.h - how far a training goes: so many steps or, by the clock, as many as fit into a time;
 * and when there is no hope that more would help. */
#ifndef TRIL_BUDGET_H
#define TRIL_BUDGET_H

#include "training/saving.h"

typedef struct {
    double seconds;    /* of the rung, all that it does included; 0: its steps count */
    double time;       /* the whole program's, of which they are a share */
    int steps;         /* in all; by the clock, as many as its pace so far lets expect */
    int most_steps;    /* by the clock no more than these, however much time is left */
    int eval_every;    /* steps between evaluations; by the clock they are tenths of the time, but
                          further apart where they would take more than a twentieth of it */
    double evaluation; /* seconds that one takes */
    double closing;    /* what comes at the end takes so many of them */
    double evaluated;  /* by the clock, when there was one last */
    bool measured;     /* there was one */
    double patience;   /* as Settings has it */
} Budget;

/* For a rung that has come as far as `progress`; `seconds` is 0 where the settings' steps count,
 * `most_steps` and `closing` are as above. */
Budget budget_open(const Settings *settings, double seconds, int most_steps, double closing,
                   const Progress *progress);

/* Before the first step of this run of the program: was all of it done before? */
bool budget_complete(const Budget *budget, const Progress *progress);

/* After an evaluation: has there been no lower loss for so long that there will hardly be one? Not
 * while the rates fall early, which does not take long. */
bool budget_hopeless(const Budget *budget, const Progress *progress);

/* Half as long: so that, at these rates, there will hardly be one? */
bool budget_stale(const Budget *budget, const Progress *progress);

/* From now on the training is to end after so many steps, if not before. */
void budget_shorten(Budget *budget, int steps);

/* After a step: is there no time, or step, left for another? Also looks at the pace. */
bool budget_spent(Budget *budget, const Progress *progress);

/* After a step: is an evaluation due? It is at the end. */
bool budget_evaluation_due(const Budget *budget, const Progress *progress, bool spent);

/* Before the first evaluation: it is expected to take so many seconds. */
void budget_expect(Budget *budget, double seconds);

/* After an evaluation that took so many seconds. */
void budget_evaluated(Budget *budget, const Progress *progress, double seconds);

#endif
