/* training.h - a model in training, advanced step by step by whoever called: behind tril.h and the
 * page in a browser tab (web/).
 *
 * Batches, rates and seeds are those of ./train. Nothing evaluates, saves or ends it unless it is
 * asked to. */
#ifndef TRIL_LIBRARY_TRAINING_H
#define TRIL_LIBRARY_TRAINING_H

#include "training/recipe.h"
#include "training/saving.h"
#include "training/workers.h"

typedef struct {
    Model *model;         /* borrowed, as is the corpus */
    const Corpus *corpus; /* without a text: a vocabulary at most */
    Workers workers;
    Recipe recipe;
    int steps; /* planned; the rates follow from it */
    Progress progress;
} Training;

/* Begins to train `model`. `options` are those of the run: batch, length, threads, precision, seed.
 * The caller releases it with training_close, also after a failure. Refused: what run_open refuses.
 */
bool training_open(Training *training, Model *model, const Corpus *corpus,
                   const RunOptions *options, const Recipe *recipe, int steps, Error *err);
void training_close(Training *training);

/* Goes on after `progress`, with the moments of that step; the model has its weights. */
void training_restore(Training *training, const Progress *progress, const float *first_moments,
                      const float *second_moments);

/* Are all steps taken? */
bool training_done(const Training *training);

/* Takes a step, and sets *taken to what it did, *rate to its learning rate. Refused: a loss or
 * gradient that is no longer a number. The training then cannot go on. */
bool training_step(Training *training, Step *taken, double *rate, Error *err);

/* Sets *loss to the mean loss on the held-out text, of which only one batch in `every` is read.
 * Refused: a loss that is not a number. */
bool training_evaluate(Training *training, size_t every, double *loss, Error *err);

#endif
