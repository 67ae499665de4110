/* input.h - the text of a training: read from its file, and made into ids. */
#ifndef TRIL_PROGRAMS_TRAIN_INPUT_H
#define TRIL_PROGRAMS_TRAIN_INPUT_H

#include "base/error.h"
#include "library/tril.h"

typedef struct {
    TrilText *text;
    TrilTokenizer *tokenizer;
    size_t length;   /* characters */
    size_t train;    /* characters for training, from the start; the rest is held out */
    int vocabulary;  /* the size of the tokenizer's, which may know more than this text has */
    int distinct;    /* characters of the vocabulary that occur in the text */
    uint64_t digest; /* of the file's bytes */
} Input;

/* Makes the input of bytes[length], the text of the file at `path`, with the ids of `known`; NULL:
 * with those of its own characters or, with `as_bytes`, of all bytes. The caller releases it with
 * input_free; on failure there is nothing to release. Refused: an empty text, invalid UTF-8,
 * characters that `known` has not, a training part shorter than context + 1 characters, a held-out
 * part of fewer than two. */
bool input_make(Input *input, const char *path, const char *bytes, size_t length, bool as_bytes,
                double held_out, int context, const TrilTokenizer *known, Error *err);
void input_free(Input *input);

/* Writes the text of ids [count], which has room for four bytes each. Returns its length. */
size_t input_decode(const Input *input, const int32_t *ids, int count, char *text);

#endif
