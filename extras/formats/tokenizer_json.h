/* tokenizer_json.h - a vocabulary as a tokenizer of Hugging Face transformers. */
#ifndef TRIL_EXTRAS_FORMATS_TOKENIZER_JSON_H
#define TRIL_EXTRAS_FORMATS_TOKENIZER_JSON_H

#include "base/json.h"
#include "data/data.h"

/* Writes the files of transformers' AutoTokenizer to a folder. tokenizer.json splits a text into
 * characters (or bytes) with the same ids. tokenizer_config.json gives `context` as the maximum
 * length. */
bool tokenizer_export(const Vocab *vocab, int context, const char *directory, Error *err);

/* Reads the vocabulary from a folder's tokenizer.json, which another program may have written. Id i
 * of the vocabulary is id (*rows)[i] of the file. The caller releases *rows with memory_free. Fails
 * for tokens of several characters, for a tokenizer that does not map each character by itself,
 * adds tokens or cuts the text, and for ids that are not 0 to size - 1. */
bool tokenizer_import(Vocab *vocab, const char *directory, int32_t **rows, Error *err);

/* Does the work of tokenizer_import for a tokenizer.json that was already read. `name` begins the
 * messages. */
bool tokenizer_read(Vocab *vocab, const char *name, const JsonValue *root, int32_t **rows,
                    Error *err);

/* The claim for json_read. */
extern const char tokenizer_claim[];

#endif
