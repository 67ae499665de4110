/* gguf.h - a model and its vocabulary as one GGUF file, which llama.cpp and programs built on it
 * load.
 *
 * The format (Gerganov et al., "GGUF", version 3, 2023): counts; a list of keys and values; a list
 * of tensors; then their numbers, each tensor at a multiple of 32 bytes. Little-endian machines
 * only. */
#ifndef TRIL_EXTRAS_FORMATS_GGUF_H
#define TRIL_EXTRAS_FORMATS_GGUF_H

#include "data/data.h"
#include "model/model.h"

/* How matrices are stored; the values are the format's own. All other tensors are float32. A matrix
 * whose rows are no multiple of 32 numbers is stored as GGUF_F16 where GGUF_Q8_0 was asked for. */
typedef enum { GGUF_F32 = 0, GGUF_F16 = 1, GGUF_Q8_0 = 8 } GgufType;

/* The type of this name: f32, f16 or q8_0. */
GgufType gguf_type(const char *name);

/* Writes the file `path`, which must not exist. Token id n there is id n here. Refused: rungs other
 * than gpt and modern; a weight that its type cannot store. */
bool gguf_export(const Model *model, const Vocab *vocab, GgufType type, const char *path,
                 Error *err);

#endif
