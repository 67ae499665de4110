/* gguf.h - exports a model and its vocabulary as one GGUF file, which llama.cpp and programs built
 * on it load.
 *
 * The format (Gerganov et al., "GGUF", version 3, 2023): counts; a list of keys and values; a list
 * of tensors; then their numbers, each tensor at a multiple of 32 bytes. */
#ifndef TRIL_EXTRAS_FORMATS_GGUF_H
#define TRIL_EXTRAS_FORMATS_GGUF_H

#include "library/formats.h"

/* Writes a file NAME.gguf, which must not exist, with matrices in f32, f16 or q8_0. Token ids are
 * the ids of the vocabulary. Only for the rungs gpt and modern. */
extern const Format gguf_format;

#endif
