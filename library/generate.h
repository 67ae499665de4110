/* generate.h - the settings of generation, for one text and for several. */
#ifndef TRIL_LIBRARY_GENERATE_H
#define TRIL_LIBRARY_GENERATE_H

#include "library/handles.h"
#include "model/generation.h"

/* Sets *sampler to the settings of `s`. Fails for one outside the ranges of ./sample. */
bool read_sampler(Sampler *sampler, const TrilSampling *s, Error *err);

/* Sets ids[*count] to a text as a model reads it, which the caller releases with memory_free: of an
 * empty text, the id that precedes a text. Fails as vocab_encode. */
bool encode_prompt(const Vocab *vocab, const char *text, size_t length, int32_t **ids,
                   size_t *count, Error *err);

/* Sets the weight of a run's counts to that of `s`, which must be 1 if the model has none. */
bool weigh_counts(Run *run, const TrilSampling *s, Error *err);

#endif
