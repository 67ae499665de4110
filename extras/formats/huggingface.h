/* huggingface.h - a model as a folder for Hugging Face transformers. */
#ifndef TRIL_EXTRAS_FORMATS_HUGGINGFACE_H
#define TRIL_EXTRAS_FORMATS_HUGGINGFACE_H

#include "model/model.h"

/* Does transformers have an architecture for this model? Only gpt and modern pass. */
bool model_check_export(const Model *model, Error *err);

/* Writes the model to a directory as transformers reads it: config.json and model.safetensors. */
bool model_export(const Model *model, const char *directory, Error *err);

/* Reads a GPT-2 or Qwen3 model from such a directory. Another program may have trained it. Refused:
 * any setting under which the file's model would compute something else. Weights may be in float32,
 * float16 or bfloat16, in one file or in several. The file's rows may be in
 * another order: id i, 0 <= i < count, is row rows[i] of the file. Dropout becomes 0. The
 * caller releases the model with model_free; on failure there is nothing to release. */
bool model_import(Model *model, const char *directory, const int32_t *rows, int count, Error *err);

#endif
