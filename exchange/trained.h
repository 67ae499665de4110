/* trained.h - a model that was trained, with its vocabulary: a checkpoint, or a folder that Hugging
 * Face transformers opens, read and written. */
#ifndef TRIL_TRAINED_H
#define TRIL_TRAINED_H

#include "data/data.h"
#include "model/model.h"

typedef struct {
    Checkpoint checkpoint; /* of a folder: without notes and moments */
    Vocab vocab;
} Trained;

/* Reads the checkpoint, or the folder, at `path`. Everything is checked: what model.h says of
 * checkpoint_load and model_import and data.h of tokenizer_import, and that model and vocabulary
 * are of one size. The caller releases it with trained_free; on failure there is nothing to
 * release. */
bool trained_load(Trained *trained, const char *path, Error *err);
void trained_free(Trained *trained);

/* The vocabulary in the notes of a checkpoint that was read from `path`. The caller releases it
 * with vocab_free. */
bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err);

/* Writes it as such a folder, which must not be there yet, or be empty; on failure nothing of it is
 * left. Refused: rungs other than gpt and modern. */
bool trained_export(const Trained *trained, const char *directory, Error *err);

#endif
