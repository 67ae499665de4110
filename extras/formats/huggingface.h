/* huggingface.h - reads and writes models as folders of Hugging Face transformers. */
#ifndef TRIL_EXTRAS_FORMATS_HUGGINGFACE_H
#define TRIL_EXTRAS_FORMATS_HUGGINGFACE_H

#include "library/formats.h"

/* Reads a GPT-2 or Qwen3 model, which another program may have trained. Fails for any setting with
 * which that model would compute something else. Weights may be in float32, float16 or bfloat16, in
 * one file or in several. Dropout becomes 0.
 *
 * Writes a gpt or a modern as a new folder: config.json, model.safetensors, and the files of a
 * tokenizer with the same ids. */
extern const Format huggingface_format;

#endif
