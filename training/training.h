/* training.h - a model in training, advanced step by step by whoever called: ./train (rung.h) and
 * the library (library/train.c).
 *
 * It batches, updates and evaluates. Its callers decide when: they measure the time, save, show,
 * and end it. */
#ifndef TRIL_TRAINING_TRAINING_H
#define TRIL_TRAINING_TRAINING_H

#include "training/compute.h"
#include "training/recipe.h"
#include "training/saving.h"
#include "training/workers.h"

typedef struct {
    Model *model;         /* borrowed, as is the corpus */
    const Corpus *corpus; /* the text that workers_send_text sent, if there are other processes */
    Workers workers;
    Recipe recipe;
    Compute compute; /* for a character */
    int steps;       /* planned; the rates follow from it */
    Progress progress;
} Training;

/* Begins to train `model`. `options` are those of the run: batch, length, threads, precision, seed.
 * The caller releases it with training_close, also after a failure. Refused: what workers_open
 * refuses. */
bool training_open(Training *training, Model *model, const Corpus *corpus,
                   const RunOptions *options, const Recipe *recipe, int steps, Error *err);
void training_close(Training *training);

/* From now on half of each target is what `teacher` expects: workers_teach. */
bool training_teach(Training *training, Model *teacher, Error *err);

/* Goes on after the state's step, with its moments; the model has its weights. */
void training_restore(Training *training, const State *state);

/* From Progress.decay_start on the rates fall, to 0 at Progress.decay_end. */
void training_follow_decay(Training *training);

/* The length of the windows in the next step. */
int training_window(const Training *training);

/* Takes a step, and sets *taken to what it did, *rate to its learning rate. False: its loss or its
 * gradient is no longer finite; the training then cannot go on. Progress counts no time. */
bool training_step(Training *training, Step *taken, double *rate);

/* Sets *loss to the mean loss on the held-out text, of which only one batch in `every` is read; NaN
 * if a person did not wait for it. Refused: what workers_evaluate refuses. */
bool training_evaluate(Training *training, size_t every, double *loss, Error *err);

/* Progress counts an evaluation that found this loss. */
void training_count_evaluation(Training *training, double loss);

#endif
