/* data.h - text -> characters -> ids -> batches. Sees bytes, never models. tril.h has its records,
 * and says how a text is read.
 *
 * Messages about a text do not name it: callers know whether it is a file or a prompt. */
#ifndef TRIL_DATA_DATA_H
#define TRIL_DATA_DATA_H

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>

/* ---- vocabulary ---- */

typedef TrilTokenizer Vocab;

/* Makes the vocabulary of a text or, with `bytes`, of the 256 byte values, without the text. The
 * caller releases it with vocab_free. Fails for bytes that are not text (characters_fail). */
bool vocab_build(Vocab *vocab, const char *text, size_t length, bool bytes, Error *err);

/* Does the same for the kind of `known`, with its characters and those of a text. */
bool vocab_extend(Vocab *vocab, const Vocab *known, const char *text, size_t length, Error *err);

/* Makes a copy. The caller releases it with vocab_free. */
bool vocab_copy(Vocab *copy, const Vocab *vocab, Error *err);

/* Returns the id of a code point (or byte), or NO_ID if it is not in the vocabulary. */
int vocab_id(const Vocab *vocab, uint32_t code);

/* Returns the id that precedes a text without a prompt: newline, else space, else the first. */
int vocab_start(const Vocab *vocab);

/* Writes the text of one id as UTF-8 (or its byte). Returns its bytes, 1 to 4. */
int vocab_text(const Vocab *vocab, int id, char text[UTF8_MAX]);

/* Sets *ids to the *count ids of a text. The caller releases them with memory_free. With `unknown`,
 * characters that are not in the vocabulary get NO_ID, and *unknown is their number; if it is NULL,
 * fails for them, and the message gives the first one and its place. Fails for bytes that are not
 * text (characters_fail). */
bool vocab_encode(const Vocab *vocab, const char *text, size_t length, int32_t **ids, size_t *count,
                  size_t *unknown, Error *err);

/* Does the same for a text that a model continues: if it is empty, the only id is vocab_start. */
bool vocab_prompt(const Vocab *vocab, const char *text, size_t length, int32_t **ids, size_t *count,
                  Error *err);

/* Sets *text to all characters of the vocabulary in order, in UTF-8, *length bytes, perhaps with a
 * NUL among them. The caller releases it with memory_free. Not for byte vocabularies. */
bool vocab_join(const Vocab *vocab, char **text, size_t *length, Error *err);

/* Makes the vocabulary of what vocab_join wrote. The caller releases it with vocab_free. Fails for
 * invalid UTF-8, and unless the characters are sorted and distinct: ids would mean others. */
bool vocab_split(Vocab *vocab, const char *text, size_t length, Error *err);

void vocab_free(Vocab *vocab);

/* ---- characters ---- */

/* The characters of a text that are not read yet. */
typedef struct {
    const Vocab *known; /* characters that are read as they are: a model may know CR or NUL */
    const char *text;
    size_t length, at; /* bytes; those read */
} Characters;

/* Returns the characters of a text, after its byte order mark. */
Characters characters_of(const Vocab *known, const char *text, size_t length);

/* Reads the next character, a newline for CR LF. Returns false at the end, and before bytes that
 * are not text. */
bool characters_read(Characters *characters, uint32_t *code);

/* The same, faster for ASCII. */
static inline bool characters_next(Characters *c, uint32_t *code) {
    *code = c->at < c->length ? (unsigned char)c->text[c->at] : 0;
    if (*code < ' ' || *code >= 0x80) return characters_read(c, code);
    c->at++;
    return true;
}

/* Fails for these bytes: the message has their place, the likely encoding with the command that
 * converts it, and `hint`. */
bool characters_fail(const Characters *characters, const char *hint, Error *err);

/* Returns iconv's name of the likely encoding of a text that is not UTF-8 at the place `at`.
 * Returns NULL if there is none: for a binary file, and for UTF-8 with an error. */
const char *encoding_of(const char *text, size_t length, size_t at);

/* ---- corpus ---- */

typedef TrilText Corpus;

/* The least share of either part. */
static const double HELD_OUT_MARGIN = 1e-6;

/* Encodes a text of `length` bytes with a vocabulary, which is copied. `held_out`, between 0 and 1,
 * is the fraction for validation. The caller releases the corpus with corpus_free; on failure there
 * is nothing to release. Fails for an empty text, as vocab_encode, and for fewer than two
 * characters in either part. */
bool corpus_make(Corpus *corpus, const Vocab *vocab, const char *text, size_t length,
                 double held_out, Error *err);

/* Returns how many characters counting reads, from the start. */
static inline size_t corpus_counted(const Corpus *corpus) {
    return corpus->counted > 0 ? min_size(corpus->counted, corpus->trained_on) : corpus->trained_on;
}

/* Sets *share to the share of the held-out text that is in the training part, too, as
 * library/programs.h says. */
bool corpus_repeated(const Corpus *corpus, double *share, Error *err);

/* Sets longest[count] as library/tril.h says, in time in proportion to the lengths of both. Fails
 * for an id beyond the vocabulary, and without memory. */
bool corpus_copied(const Corpus *corpus, const int32_t *ids, size_t count, int32_t *longest,
                   Error *err);

void corpus_free(Corpus *corpus);

/* Joins texts[count] into one as library/tril.h says; *held_out is in its range or NaN. */
bool corpus_join(const char *const *texts, const size_t *lengths, int count, bool bytes,
                 double *held_out, char *joined, size_t *length, int *which, Error *err);

/* ---- batches ---- */

/* Sets starts[count] to where windows `first` to first + count - 1 of this step's batch of B begin.
 * Each epoch visits all windows of T characters of a text of `length` > T once in random order.
 * They lie end to end, from a random offset (the rests at both ends are together less than two
 * windows). A step continues where the last one ended. The same seed and step give the same batch.
 * first + count <= B. */
void batch_windows(size_t length, int B, int T, uint64_t seed, uint64_t step, int first, int count,
                   size_t *starts);

#endif
