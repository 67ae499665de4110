/* generate.h - the settings of generation, for one text and for several. */
#ifndef TRIL_LIBRARY_GENERATE_H
#define TRIL_LIBRARY_GENERATE_H

#include "library/handles.h"
#include "model/generation.h"

/* Sets *sampler to the settings of `s`. Fails for one outside the ranges of ./sample. */
bool read_sampler(Sampler *sampler, const TrilSampling *s, Error *err);

/* In a list, returns the index of the last newline in ids[count], from which the model reads on.
 * Returns `count` if there is none, and for other texts. */
size_t last_line(const Vocab *vocab, const int32_t *ids, size_t count);

/* Sets ids[*count] to a text as a model reads it, which the caller releases with memory_free: of a
 * list, the last line with the newline before it, even if the text lacks that; of an empty text,
 * the id that precedes a text. *characters is the length of the whole text. Fails as vocab_encode.
 */
bool encode_prompt(const Vocab *vocab, const char *text, size_t length, int32_t **ids,
                   size_t *count, size_t *characters, Error *err);

/* Sets the weight of a run's counts to that of `s`, which must be 1 if the model has none. */
bool weigh_counts(Run *run, const TrilSampling *s, Error *err);

#endif
