/* saving.h - what a training leaves on the disk: the best weights, which ./sample reads, and the
 * last state, from which ./train --resume goes on. Each is one checkpoint, whole at any time. */
#ifndef TRIL_SAVING_H
#define TRIL_SAVING_H

#include "data/data.h"
#include "training/settings.h"

enum { KERNELS_ROOM = 16 };

/* A line of the table at the end. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation; /* nats per character */
    double seconds;           /* negative: needed no training */
    double characters;        /* seen in training or, where it gave up, to be seen */
    double time;              /* Settings.time, if it went by the clock; 0: steps counted */
} Result;

/* Where the training of one rung stands, beside its weights and moments. The step tells the place
 * in the text and in every stream of random numbers. */
typedef struct {
    int step;      /* updates done */
    double best;   /* lowest validation loss that was saved, infinite before the first */
    double lowest; /* that was seen, after so many updates, and so many evaluations ago: */
    double lowest_step, stale;
    double recent;       /* mean training loss since the last evaluation */
    double recent_count; /* of so many steps */
    double seconds;      /* since the beginning */
    double learning;     /* of them in training steps */
    double log_length;   /* bytes of its log */
    double spent;        /* by the clock, when its share of a Settings.time was spent: of which */
    double given_up;     /* if it ended because there was no hope: of so many steps */
    double cooling; /* the step from which the rates fall earlier than planned; 0: they do not */
    double cooled;  /* the step at which they are then to be 0 */
    uint64_t log_digest;        /* of the log's bytes */
    char kernels[KERNELS_ROOM]; /* of a state: those it was trained with; empty if not known */
} Progress;

/* A run of ./train: the rung under way, and the results of those before it. */
typedef struct {
    Checkpoint checkpoint;
    Progress progress;
    uint64_t text;          /* Corpus.digest */
    char words[WORDS_ROOM]; /* Settings.words */
    Result results[MAX_RUNGS];
    int result_count;
} State;

/* Writes a checkpoint of the model, with the corpus's vocabulary and the settings' seed, as what is
 * best after `step` updates: `validation` is its loss in nats per character, NaN if nobody knows.
 * Atomic; on failure the file that was there stays. */
bool save_best(const char *path, const Model *model, const Settings *settings, const Corpus *corpus,
               int step, double validation, Error *err);

/* Likewise one of the run, moments included, with its progress, the settings that last, and the
 * results [result_count] of the rungs before, MAX_RUNGS at most. */
bool save_state(const char *path, const Run *run, const Settings *settings, const Corpus *corpus,
                const Progress *progress, const Result *results, int result_count, Error *err);

/* Reads a state back; every note is checked. Refused: whatever checkpoint_load refuses, a model
 * without moments, notes that save_state does not write. The caller releases it with state_free; on
 * failure there is nothing to release. */
bool state_load(State *state, const char *path, Error *err);
void state_free(State *state);

#endif
