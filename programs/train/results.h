/* results.h - the results of a training run so far. */
#ifndef TRIL_PROGRAMS_TRAIN_RESULTS_H
#define TRIL_PROGRAMS_TRAIN_RESULTS_H

#include "programs/train/plan.h"

enum { CLOSED_FORMS = 5, COUNTED_FORMS = 2 }; /* COUNTED_FORMS: the last of them, n-grams */

/* A training run: the rungs of a plan, trained one after another. */
typedef struct {
    Plan *plan;                               /* borrowed */
    struct Report *report;                    /* owned */
    Result results[CLOSED_FORMS + MAX_RUNGS]; /* [count]: the closed forms, then the rungs so far,
                                                 the one in training included */
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* the rungs', at their indices in `results` */
    int count;
    Error failed;                    /* the first error of writing a file, or empty */
    char counted[COUNTED_FORMS][24]; /* their names */
} Ladder;

#endif
