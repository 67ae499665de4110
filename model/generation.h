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
 * `place` the number of the draw in it: both and the seed determine the random number.
 * scratch[SAMPLER_SCRATCH V] is overwritten. */
enum { SAMPLER_SCRATCH = 2 };
int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, double *scratch);

/* Sets p[V] to the probability with which sampler_pick picks each token, with the same scratch. */
void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           double *scratch);

/* A growing text: a run of batch 1 and the tokens in its context. When they fill the context, its
 * last quarter is kept; if the run does not slide, its last 16th is read again, in one pass. */
typedef struct {
    Run *run;
    int32_t *window; /* [T], the model's context; owned */
    int length;      /* tokens in it */
} Generator;

/* Opens a run of `model`, which is borrowed. generator_close closes it and releases the window.
 * Fails as run_open does, and without memory. */
bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err);
void generator_close(Generator *generator);

/* Drops all tokens. */
void generator_reset(Generator *generator);

/* Reads ids[count], count >= 1, and returns the logits[V] after the last of them. If count is
 * larger than the context, only the last tokens are read. The run's next call overwrites them. */
const float *generator_feed(Generator *generator, const int32_t *ids, size_t count);

/* Several texts that grow together: a growing run, with a slot for each text. Each text gives the
 * same logits as a generator that is fed one token after another. One thread computes. */
typedef struct {
    Run *run;
    int32_t *windows;    /* [slots][T]; owned, as the following */
    int *lengths, *read; /* [slots]: tokens in a window; how many of them the run has read */
    Continuation *next;  /* [slots]: scratch */
} Group;

/* Opens a run of `model`, which is borrowed, with `slots` slots; packed_by as in RunOptions.
 * group_close closes it. Fails as run_open does, and without memory. */
bool group_open(Group *group, Model *model, int slots, Precision precision, const Run *packed_by,
                Error *err);
void group_close(Group *group);

/* Drops the text in a slot, and begins another with ids[count], count >= 1. If they are more than
 * the context, only the last are used. */
void group_begin(Group *group, int slot, const int32_t *ids, size_t count);

/* Appends a token to a text that has been read to its end. */
void group_append(Group *group, int slot, int32_t id);

/* Reads a token of each text in slots[count], and returns the logits[count,V] after it. The next
 * call overwrites them. */
const float *group_read(Group *group, const int *slots, int count);

/* Returns true if the text in a slot has been read to its end. */
bool group_has_read(const Group *group, int slot);

#endif
