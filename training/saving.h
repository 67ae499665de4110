/* saving.h - what a training saves: the best weights, which ./sample reads, and the last state,
 * which ./train --resume continues. Each is one checkpoint, complete at any time. */
#ifndef TRIL_TRAINING_SAVING_H
#define TRIL_TRAINING_SAVING_H

#include "data/data.h"
#include "formats/checkpoint.h"
#include "training/course.h"
#include "training/plan.h"

enum { KERNELS_SIZE = 16 };

/* A line of the table of losses. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation; /* nats per character */
    double seconds;           /* negative: needed no training */
    double characters;        /* seen in training; if it ended early, planned */
    double time;              /* Plan.time: 0 if steps counted */
    uint64_t digest;          /* of the weights (model_digest); 0: not known */
    double compute;           /* floating-point operations of the training; NaN: not known */
    const Course *course;     /* how the training went; borrowed. NULL: not known; a state does not
                                 have it, but the log */
} Result;

/* How far the training of one rung has come, beside its weights and moments. The step determines
 * the place in the text and in every stream of random numbers. Most members are double, as the
 * state's notes are. */
typedef struct {
    int step;                      /* updates done */
    double best;                   /* lowest validation loss saved; infinite before the first */
    double lowest, lowest_step;    /* lowest validation loss seen, and after how many updates */
    double evaluations_since_best; /* since `lowest` */
    double recent;                 /* mean training loss since the last evaluation */
    double recent_count;           /* steps in `recent` */
    double seconds;                /* since the beginning */
    double step_seconds;           /* of them in training steps */
    double compute;                /* floating-point operations of these steps */
    double log_length;             /* bytes of the log */
    double time_limit; /* by the clock: the Plan.time whose share is used up; 0: it is not */
    double early_stop; /* steps planned when its patience ended it early; 0: it did not */
    double
        decay_start;  /* the step from which the rates fall, earlier than planned; 0: as planned */
    double decay_end; /* the step at which they then reach 0 */
    uint64_t log_digest;        /* of the log's bytes */
    char kernels[KERNELS_SIZE]; /* in a state: the kernels it was trained with; empty: not known */
} Progress;

/* The state of a run of ./train: the rung that is being trained, and the results of the rungs
 * before it. */
typedef struct {
    Checkpoint checkpoint;
    Progress progress;
    uint64_t text;          /* Corpus.digest */
    uint64_t teacher;       /* Plan.teacher */
    char words[WORDS_SIZE]; /* Plan.words */
    Result results[MAX_RUNGS];
    int result_count;
} State;

/* Writes a checkpoint of the model, with the corpus's vocabulary and the seed, as the best one,
 * after `step` updates: `validation` is its loss in nats per character, NaN if it is not known.
 * Atomic; on failure the file that was there stays. */
bool save_best(const char *path, const Model *model, uint64_t seed, const Corpus *corpus, int step,
               double validation, Error *err);

/* Writes the state of the run likewise: weights, moments, progress, the plan's words, and
 * results[result_count] of the rungs before, at most MAX_RUNGS. */
bool save_state(const char *path, const Run *run, const Plan *plan, const Corpus *corpus,
                const Progress *progress, const Result *results, int result_count, Error *err);

/* Reads a state back, and checks every note. Refused: what checkpoint_load refuses, a model without
 * moments, notes that save_state does not write. The caller releases it with state_free; on failure
 * there is nothing to release. */
bool state_load(State *state, const char *path, Error *err);
void state_free(State *state);

#endif
