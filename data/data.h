/* data.h - text -> characters -> ids -> batches. Sees bytes, never models.
 *
 * A text is UTF-8; its characters are Unicode code points; its vocabulary is the sorted set of
 * those that occur, and the id of a character is its place there. With `bytes` the text is any
 * file, its characters are its bytes and the vocabulary is all 256. The first part of the ids
 * trains, the rest is held out to validate; neither program ever trains on the held-out part. */
#ifndef TRIL_DATA_H
#define TRIL_DATA_H

#include "base/error.h"
#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>

/* ---- vocabulary ---- */

typedef struct {
    uint32_t *codes; /* sorted, distinct; owned */
    int size;
    bool bytes; /* the 256 byte values, rather than code points */
} Vocab;

/* The vocabulary of a UTF-8 text, or (bytes) the 256 byte values, the text then being unread.
 * `name` (a file) opens the message about invalid UTF-8, which gives its byte offset. */
bool vocab_build(Vocab *vocab, const char *name, const char *text, size_t length, bool bytes,
                 Error *err);

/* A copy, which the caller releases with vocab_free. */
bool vocab_copy(Vocab *copy, const Vocab *vocab, Error *err);

/* Does the vocabulary have all characters of the other? If not, `name` opens a message that names
 * those that it lacks, or the first of them. */
bool vocab_covers(const Vocab *vocab, const Vocab *other, const char *name, Error *err);

/* The id of a code point (or byte), -1 if it is not in the vocabulary. */
int vocab_id(const Vocab *vocab, uint32_t code);

/* What a text that has no beginning starts after: the end of a line, else a space, else the first
 * character. */
int vocab_start(const Vocab *vocab);

/* The text of one id, as UTF-8 (or its byte): writes 1 to 4 bytes and returns how many. */
int vocab_text(const Vocab *vocab, int id, char text[UTF8_MAX]);

/* Sets *ids to the *count ids of a text; the caller releases them with memory_free. A character
 * that the vocabulary lacks is an error, which names it and its place. */
bool vocab_encode(const Vocab *vocab, const char *name, const char *text, size_t length,
                  int32_t **ids, size_t *count, Error *err);

/* Sets *text to all characters of the vocabulary in order, UTF-8, *length bytes (a NUL character
 * may be among them), for a file's header: vocab_build reads it back. The caller releases it with
 * memory_free. Not for byte vocabularies. */
bool vocab_join(const Vocab *vocab, char **text, size_t *length, Error *err);

void vocab_free(Vocab *vocab);

/* ---- tokenizers of Hugging Face ---- */

/* Writes to a directory what transformers' AutoTokenizer reads: tokenizer.json, which takes a text
 * apart into characters (or bytes) with the same ids, and tokenizer_config.json, which says that
 * `context` is the longest. */
bool tokenizer_export(const Vocab *vocab, int context, const char *directory, Error *err);

/* Reads the vocabulary of a directory's tokenizer.json, which another program may have written:
 * id i here is rows[i] there; the caller releases them with memory_free. Refused with a sentence:
 * tokens of several characters, whatever does not look up each character of a text alone, what adds
 * tokens to a text or cuts it, ids that are not 0 to size - 1. */
bool tokenizer_import(Vocab *vocab, const char *directory, int32_t **rows, Error *err);

/* The same of a tokenizer.json that stands in memory, where it is decoded; `name` opens messages.
 */
bool tokenizer_read(Vocab *vocab, const char *name, char *text, size_t length, int32_t **rows,
                    Error *err);

/* ---- corpus ---- */

typedef struct {
    Vocab vocab;
    int32_t *ids;    /* the whole text; owned */
    size_t length;   /* characters */
    size_t train;    /* the first so many train, the others are held out */
    uint64_t digest; /* of the file's bytes */
} Corpus;

/* Reads a text file. `held_out`, between 0 and 1, is the fraction that validates. `known` is the
 * vocabulary of a model that is there already; NULL: the text's own is taken. Refused with a
 * sentence: no such file, a directory, an empty file, invalid UTF-8 (unless `bytes`), characters
 * that a known vocabulary lacks, which are named, and a text whose training part is shorter than
 * context + 1 characters or whose held-out part has fewer than two. */
bool corpus_load(Corpus *corpus, const char *path, bool bytes, double held_out, int context,
                 const Vocab *known, Error *err);

void corpus_free(Corpus *corpus);

/* Sets *digest to what Corpus.digest is of this file. Refused: a file that cannot be read. */
bool corpus_digest(const char *path, uint64_t *digest, Error *err);

/* ---- batches ---- */

/* Of a batch of B windows of the `length` ids, fills inputs[count,T] with `count` from window
 * `first` on, and targets[count,T] with the same windows one character on. In each epoch the text
 * is cut into windows end to end, from another place on (at both ends together less than two
 * windows are left over), and they come in another order, each once: step after step goes on in it.
 * The same seed and step give the same batch. length > T, first + count <= B. */
void batch_shuffled(const int32_t *ids, size_t length, int B, int T, uint64_t seed, uint64_t step,
                    int first, int count, int32_t *inputs, int32_t *targets);

#endif
