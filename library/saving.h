/* saving.h - what is saved of a training: a model, which ./sample reads, and a state, from which
 * the training goes on. Each is one checkpoint, complete at any time. */
#ifndef TRIL_LIBRARY_SAVING_H
#define TRIL_LIBRARY_SAVING_H

#include "library/checkpoint.h"
#include "library/settings.h"
#include "library/trainer.h"

enum { KERNELS_SIZE = 16, MAX_NOTES = 16 }; /* of a program */

/* What is known of the training of a model. */
typedef struct {
    const Vocab *vocab;
    uint64_t seed, text; /* text: the digest of its bytes */
    uint64_t training;   /* by which a program knows its files; 0: none */
    int step;            /* updates done */
    double validation;   /* the loss of these weights on the held-out text; NaN: not known */
} Origin;

/* Writes a checkpoint of the model. Atomic; on failure the file that was there stays. */
bool save_model(const char *path, const Model *model, const Origin *origin, Error *err);

/* Writes the state of a training likewise: weights, moments, progress, its settings, the digest of
 * its teacher (0: none), and more notes [count], of a program. */
bool save_state(const char *path, const Training *training, const Settings *settings,
                uint64_t teacher, const Note *notes, int count, Error *err);

/* Is this the key of a note that save_state or save_model writes itself? */
bool state_has_key(const char *key);

typedef struct {
    Checkpoint checkpoint; /* with all notes, those of a program included */
    Progress progress;
    Settings settings;
    uint64_t text;              /* Corpus.digest */
    uint64_t teacher;           /* 0: none */
    char kernels[KERNELS_SIZE]; /* it was trained with; empty: not known */
} State;

/* Reads a state back, and checks every note that save_state writes. Refused: what checkpoint_load
 * refuses, a model without moments, other notes than save_state writes. The caller releases it with
 * state_free; on failure there is nothing to release. */
bool state_load(State *state, const char *path, Error *err);
void state_free(State *state);

#endif
