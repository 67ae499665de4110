/* generation.h - the next token, and a text that grows beyond the context. */
#ifndef TRIL_MODEL_GENERATION_H
#define TRIL_MODEL_GENERATION_H

#include "model/run.h"

enum { GREEDY = 0, EVERY_TOKEN = 0 };

typedef struct {
    double temperature; /* divides the logits; GREEDY always picks the most likely token */
    int top_k;          /* only the k most likely tokens, or EVERY_TOKEN */
    double top_p; /* of these, only the most likely ones that together reach this share of their
                     probability, at most 1 */
    uint64_t seed;
    const struct Isa *isa; /* the vector loops, set by sampler_prepare */
} Sampler;

/* Sets the sampler's vector loops. They only change its speed. Fails as isa_choose does. */
bool sampler_prepare(Sampler *sampler, Error *err);

/* Picks the next token from logits[V] and returns its id. `stream` is the number of the sample,
 * `draw` the number of the draw in it: both and the seed determine the random number.
 * scratch[SAMPLER_SCRATCH V] is overwritten. */
enum { SAMPLER_SCRATCH = 2 };
int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream, uint64_t draw,
                 double *scratch);

/* Sets p[V] to the probability with which sampler_pick picks each token, with the same scratch. */
void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           double *scratch);

/* Texts that grow: a run, and a slot for each text with its window, the tokens that a prediction
 * sees. When they fill the context, only the last eighth of it is kept, and read again. So all
 * logits are those of the window in one pass, to the last bit. */
typedef struct {
    Run *run;
    int slots;
    int32_t *windows; /* [slots][T], T the model's context; owned, as the following */
    struct {
        int length, read; /* tokens in the window; how many of them the run has read */
        int row;          /* of the last one in the pass that read it */
    } * texts;            /* [slots] */
    int most;             /* tokens in a pass */
    DecodeToken *next;    /* [most]: scratch */
    const float *logits;  /* of the last pass */
} Generator;

/* Opens a decoding run of `model`, which is borrowed, for texts in `slots` slots. Up to `threads`
 * threads pack its weights, unless packed_by (RunOptions) has them; one reads the texts.
 * generator_close closes it and releases the texts. Fails as run_open does, and without memory. */
bool generator_open(Generator *g, Model *model, int slots, int threads, Precision precision,
                    const Run *packed_by, Error *err);
void generator_close(Generator *g);

/* Drops the text in a slot, to begin another. */
void generator_begin(Generator *g, int slot);

/* Appends ids[count] to a text. If count is larger than the context, only the last tokens are
 * appended. */
void generator_append(Generator *g, int slot, const int32_t *ids, size_t count);

/* Reads as many tokens as fit a pass, at least one of each text with unread ones. There must be one
 * such text. */
void generator_read(Generator *g);

/* Returns logits[V] after the last token of a text that the last generator_read has read to its
 * end; NULL if the text is empty or not read to its end. */
const float *generator_logits(const Generator *g, int slot);

#endif
