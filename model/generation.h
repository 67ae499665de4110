/* generation.h - the next token, and a text that grows beyond the context. */
#ifndef TRIL_MODEL_GENERATION_H
#define TRIL_MODEL_GENERATION_H

#include "model/run.h"

typedef struct {
    double temperature; /* divides the logits; at 0 the most likely token is always picked */
    int top_k;          /* only the k most likely tokens; all if 0 */
    double top_p; /* of these, only the most likely ones that together reach this share of their
                     probability, at most 1 */
    uint64_t seed;
} Sampler;

/* Picks the next token from logits[V] and returns its id. `stream` is the number of the sample,
 * `place` the number of the draw in it: both and the seed determine the random number. order[V] is
 * scratch. */
int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, int32_t *order);

/* Sets p[V] to the probabilities with which sampler_pick picks each token. order[V] is scratch. */
void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           int32_t *order);

/* A growing text: a run of batch 1 and the tokens in its context. When they fill the context, its
 * last quarter is kept; if the run does not slide, its last 16th is read again, in one pass. */
typedef struct {
    Run *run;
    int context, V;  /* the model's */
    int32_t *window; /* [context]; owned */
    int length;      /* tokens in it */
} Generator;

/* Opens a run of `model`, which is borrowed. generator_close closes it and releases the window.
 * Errors: those of run_open, no memory. */
bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err);
void generator_close(Generator *generator);

/* Drops all tokens. */
void generator_reset(Generator *generator);

/* Reads ids[count], count >= 1, and returns the logits[V] after the last of them. If count is
 * larger than the context, only the last tokens are read. The run owns the logits; its next call
 * overwrites them. */
const float *generator_feed(Generator *generator, const int32_t *ids, size_t count);

#endif
