/* outputs.h - the results of a training run, and the files that it writes. No other program writes
 * them meanwhile, and the files of an earlier training run are kept. */
#ifndef TRIL_PROGRAMS_TRAIN_OUTPUTS_H
#define TRIL_PROGRAMS_TRAIN_OUTPUTS_H

#include "programs/train/claims.h"
#include "programs/train/plan.h"

#include <stdio.h>

enum { CLOSED_FORMS = 5, COUNTED_FORMS = 2 }; /* COUNTED_FORMS: the last of them, n-grams */

/* A training run: the rungs of a plan, trained one after another. */
typedef struct {
    Plan *plan;         /* borrowed */
    Claims *claims;     /* of every file of the training; owned */
    uint64_t tables[2]; /* digests of the existing table and of the next one, or TRIL_NO_DIGEST */
    struct Report *report;                    /* owned */
    Result results[CLOSED_FORMS + MAX_RUNGS]; /* [count]: the closed forms, then the rungs so far,
                                                 the one in training included */
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* the rungs', at their indices in `results` */
    int count;
    Error failed;                    /* the first error of writing a file, or empty */
    char counted[COUNTED_FORMS][24]; /* their names */
} Ladder;

/* Claims every file of the training. Fails where the functions of claims.h fail, for an output that
 * is also an input (the text, --init), and for a state that another training run has
 * written since it was loaded. */
bool outputs_open(Ladder *ladder, Error *err);

/* Moves the files of other training runs, or of the user, to a new folder, to make way. Writes the
 * folder's name to where[PATH_SIZE], or an empty text if nothing was in the way. A resumed
 * run keeps its own files: models and the page carry its number, the page has the table's digest,
 * and the state has those of the logs. A log that no state knows yet belongs to this training run
 * if its page is beside it, because another training run in that folder would have moved the page.
 * Fails for a file that cannot be read or moved. */
bool outputs_make_way(Ladder *ladder, char where[PATH_SIZE], Error *err);

/* Writes the first lines of the training's page, up to a <meta> that has the number of the training
 * and the digests of both tables. The page is written before the table, so the table can be
 * recognized at any time. */
void outputs_begin_page(const Ladder *ladder, FILE *out);

#endif
