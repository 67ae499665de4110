/* data.h - text -> characters -> ids -> batches. Sees bytes, never models.
 *
 * A text is UTF-8. Its characters are Unicode code points. Its vocabulary is the sorted set of the
 * characters that occur, and a character's id is its index there. With `bytes` the text is any
 * file, its characters are bytes, and the vocabulary is all 256 of them. The first part of the ids
 * is for training. The rest is held out for validation, and no program ever trains on it. */
#ifndef TRIL_DATA_DATA_H
#define TRIL_DATA_DATA_H

#include "base/error.h"
#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>

/* ---- vocabulary ---- */

typedef struct {
    uint32_t *codes; /* sorted, distinct; owned */
    int size;
    bool bytes; /* the 256 byte values instead of code points */
} Vocab;

/* Makes the vocabulary of a UTF-8 text or, with `bytes`, of the 256 byte values; the text is then
 * not read. `name` (a file) begins the message about invalid UTF-8, which gives the byte offset.
 * The caller releases it with vocab_free. */
bool vocab_build(Vocab *vocab, const char *name, const char *text, size_t length, bool bytes,
                 Error *err);

/* Do both give the same ids to the same characters or bytes? */
bool vocab_same(const Vocab *a, const Vocab *b);

/* Makes a copy. The caller releases it with vocab_free. */
bool vocab_copy(Vocab *copy, const Vocab *vocab, Error *err);

/* Makes the vocabulary of all characters of `a` and `b`, both of code points or both of bytes. The
 * caller releases it with vocab_free. */
bool vocab_merge(Vocab *merged, const Vocab *a, const Vocab *b, Error *err);

/* The id of a code point (or byte). -1 if it is not in the vocabulary. */
int vocab_id(const Vocab *vocab, uint32_t code);

/* The id that precedes a text with no prompt: newline, else space, else the first character. */
int vocab_start(const Vocab *vocab);

/* Writes the text of one id as UTF-8 (or its byte). Returns its bytes, 1 to 4. */
int vocab_text(const Vocab *vocab, int id, char text[UTF8_MAX]);

/* Sets *ids to the *count ids of a text. The caller releases them with memory_free. Refused: a
 * character that is not in the vocabulary; the message gives it and its place. */
bool vocab_encode(const Vocab *vocab, const char *name, const char *text, size_t length,
                  int32_t **ids, size_t *count, Error *err);

/* The same, but keeps the place of a character that is not in the vocabulary: its id is -1.
 * Refused: text that is not UTF-8. */
bool vocab_encode_known(const Vocab *vocab, const char *name, const char *text, size_t length,
                        int32_t **ids, size_t *count, Error *err);

/* Sets *text to all characters of the vocabulary in order, in UTF-8, *length bytes, perhaps with a
 * NUL among them. vocab_build reads it back from a file's header. The caller releases it with
 * memory_free. Not for byte vocabularies. */
bool vocab_join(const Vocab *vocab, char **text, size_t *length, Error *err);

void vocab_free(Vocab *vocab);

/* ---- corpus ---- */

typedef struct {
    Vocab vocab;
    int32_t *ids;    /* the whole text; owned */
    size_t length;   /* characters */
    int distinct;    /* characters of the vocabulary that occur in the text */
    size_t train;    /* characters for training, from the start; the rest is held out */
    uint64_t digest; /* of the file's bytes */
} Corpus;

/* Reads a text of `length` bytes. `name` begins the messages. `held_out`, between 0 and 1, is the
 * fraction for validation. The vocabulary is that of the text, and has all characters of `known`
 * too, the vocabulary of an existing model; NULL: there is none. The caller releases the corpus
 * with corpus_free; on failure there is nothing to release. Refused: an empty text, invalid UTF-8
 * (unless `bytes`), a training part shorter than context + 1 characters, a held-out part of fewer
 * than two. */
bool corpus_make(Corpus *corpus, const char *name, const char *text, size_t length, bool bytes,
                 double held_out, int context, const Vocab *known, Error *err);

void corpus_free(Corpus *corpus);

/* The Corpus.digest of a text. */
uint64_t corpus_digest(const char *text, size_t length);

/* ---- batches ---- */

/* Fills inputs[count,T] with windows `first` to first + count - 1 of this step's batch of B
 * windows. Fills targets[count,T] with the same windows, one character later. Each epoch cuts
 * ids[length] end to end into windows, from a random offset (fewer than two windows are left over
 * at both ends together), and visits each window once in random order. A step continues where the
 * last one ended. The same seed and step give the same batch. length > T, first + count <= B. */
void batch_shuffled(const int32_t *ids, size_t length, int B, int T, uint64_t seed, uint64_t step,
                    int first, int count, int32_t *inputs, int32_t *targets);

#endif
