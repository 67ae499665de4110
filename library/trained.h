/* trained.h - a trained model with its vocabulary: read from a checkpoint or a folder of Hugging
 * Face transformers, written for other programs. */
#ifndef TRIL_LIBRARY_TRAINED_H
#define TRIL_LIBRARY_TRAINED_H

#include "data/data.h"
#include "library/checkpoint.h"
#include "extras/formats/gguf.h"

typedef struct {
    Checkpoint checkpoint; /* from a folder: without notes and moments */
    Vocab vocab;
} Trained;

/* Reads the checkpoint or folder at `path`. Makes all checks of checkpoint_load, or of model_import
 * and tokenizer_import, and checks that model and vocabulary have the same size. The caller
 * releases it with trained_free. On failure there is nothing to release. */
bool trained_load(Trained *trained, const char *path, Error *err);
void trained_free(Trained *trained);

/* Extends the model to the vocabulary `vocab`, which contains its own, as model_extend does. The
 * checkpoint keeps its notes but not its moments. Refused: no memory; *trained can then only be
 * released. */
bool trained_extend(Trained *trained, const Vocab *vocab, uint64_t seed, Error *err);

/* Reads the vocabulary from the notes of a checkpoint. `path` begins the messages. The caller
 * releases it with vocab_free. */
bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err);

/* Writes the model for other programs. A path that ends in .gguf becomes a file for llama.cpp, with
 * matrices of this type: gguf_export. Any other path becomes a folder for transformers, which is in
 * float32 and must be missing or empty. On failure nothing of it is left. Refused: rungs other than
 * gpt and modern; another type for a folder. */
bool trained_export(const Trained *trained, const char *path, GgufType type, Error *err);

#endif
