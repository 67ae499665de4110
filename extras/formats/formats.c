/* formats.c - the list of other programs' formats. */
#include "library/formats.h"

/* Writes a file NAME.gguf, which must not exist, with matrices in f32, f16 or q8_0. Token ids are
 * the ids of the vocabulary. Only for the rungs gpt and modern. */
extern const Format gguf_format;

/* Reads a GPT-2 or Qwen3 model, which another program may have trained. Fails for any setting with
 * which that model would compute something else. Weights may be in float32, float16 or bfloat16, in
 * one file or in several. Dropout becomes 0.
 *
 * Writes a gpt or a modern as a new folder: config.json, model.safetensors, and the files of a
 * tokenizer with the same ids. */
extern const Format huggingface_format;

/* Transformers come last, because any path can name a folder. */
const Format *const formats[] = {&gguf_format, &huggingface_format, NULL};
