/* training.h - a model in training, advanced step by step by whoever called.
 *
 * It batches, updates and evaluates. Its callers decide when: they save, show, and end it. */
#ifndef TRIL_LIBRARY_TRAINER_H
#define TRIL_LIBRARY_TRAINER_H

#include "library/compute.h"
#include "library/recipe.h"
#include "library/workers.h"

/* How far it has come, beside the weights and moments. The step determines the place in the text
 * and in every stream of random numbers. Most members are double, as the notes of a state are. */
typedef struct {
    int step;                      /* updates done */
    double recent;                 /* mean training loss since the last evaluation */
    double recent_count;           /* steps in `recent` */
    double lowest, lowest_step;    /* lowest validation loss seen (infinite before the first), and
                                      after how many updates */
    double evaluations_since_best; /* since `lowest` */
    double step_seconds;           /* of all steps */
    double compute;                /* floating-point operations of all steps; NaN: not known */
    double decay_start;            /* the step from which the rates fall, earlier than planned; 0:
                                      as planned */
    double decay_end;              /* the step at which they then reach 0 */
} Progress;

typedef struct {
    Model *model;         /* borrowed, as is the corpus */
    const Corpus *corpus; /* the text */
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

/* Goes on after this progress, with these moments; the model has the weights of then. */
void training_restore(Training *training, const Progress *progress, const float *first_moments,
                      const float *second_moments);

/* The length of the windows in the next step. */
int training_window(const Training *training);

/* Takes a step, and sets *taken to what it did, *rate to its learning rate. False: its loss or its
 * gradient is no longer finite; the training then cannot go on. */
bool training_step(Training *training, Step *taken, double *rate);

/* Sets *loss to the mean loss on the held-out text, of which only one batch in `every` is read; NaN
 * if it was stopped. Else the progress counts it. Refused: what workers_evaluate refuses. */
bool training_evaluate(Training *training, size_t every, const Stop *stop, double *loss,
                       Error *err);

/* If high rates no longer lower the loss, makes them fall from now on: as fast as in a training
 * whose peak was planned to end at the lowest loss. False: they would reach 0 no earlier than
 * planned, or do not stay high, and nothing changes. */
bool training_cool_down(Training *training);

#endif
