/* trained.h - a trained model with its vocabulary, read from a checkpoint or from another program's
 * file (formats.h). */
#ifndef TRIL_LIBRARY_TRAINED_H
#define TRIL_LIBRARY_TRAINED_H

#include "data/data.h"
#include "library/checkpoint.h"

typedef struct {
    Checkpoint checkpoint; /* from another program's file: only its model */
    Vocab vocab;
} Trained;

/* Reads the model at `path` with all checks of checkpoint_load, or of its format, and checks that
 * model and vocabulary have the same size. The caller releases it with trained_free. On failure
 * there is nothing to release. */
bool trained_load(Trained *trained, const char *path, Error *err);
void trained_free(Trained *trained);

/* Extends a model without moments to the vocabulary `vocab`, which contains its own, as
 * model_extend does. Fails if there is no memory; *trained can then only be released. */
bool trained_extend(Trained *trained, const Vocab *vocab, uint64_t seed, Error *err);

/* Reads the vocabulary from the notes of a checkpoint. `path` begins the messages. The caller
 * releases it with vocab_free. */
bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err);

#endif
