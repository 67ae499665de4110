/* trained.h - a trained model with its vocabulary, read from or written to a checkpoint or a folder
 * of Hugging Face transformers. */
#ifndef TRIL_TRAINED_H
#define TRIL_TRAINED_H

#include "data/data.h"
#include "formats/checkpoint.h"

typedef struct {
    Checkpoint checkpoint; /* from a folder: without notes and moments */
    Vocab vocab;
} Trained;

/* Reads the checkpoint or folder at `path`. Makes all checks of checkpoint_load, or of model_import
 * and tokenizer_import, and checks that model and vocabulary have the same size. The caller
 * releases it with trained_free. On failure there is nothing to release. */
bool trained_load(Trained *trained, const char *path, Error *err);
void trained_free(Trained *trained);

/* Reads the vocabulary from the notes of a checkpoint. `path` begins the messages. The caller
 * releases it with vocab_free. */
bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err);

/* Writes a folder for transformers, which must be missing or empty. On failure nothing of it is
 * left. Refused: rungs other than gpt and modern. */
bool trained_export(const Trained *trained, const char *directory, Error *err);

#endif
