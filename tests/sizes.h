/* sizes.h - options for tests of the library, in one expression. */
#ifndef TRIL_TESTS_SIZES_H
#define TRIL_TESTS_SIZES_H

#include "library/tril.h"

/* The defaults with these sizes. */
static inline TrilOptions sized(const char *rung, int layers, int heads, int width, int context) {
    TrilOptions options = tril_options();
    options.rung = rung;
    options.layers = layers;
    options.heads = heads;
    options.width = width;
    options.context = context;
    return options;
}

/* A copy with another seed. */
static inline const TrilOptions *seeded(TrilOptions *copy, const TrilOptions *options,
                                        uint64_t seed) {
    *copy = *options;
    copy->seed = seed;
    return copy;
}

/* A copy of `options` with the rung and the sizes of `sizes`. */
static inline const TrilOptions *joined(TrilOptions *copy, const TrilOptions *options,
                                        const TrilOptions *sizes) {
    *copy = *options;
    copy->rung = sizes->rung;
    copy->layers = sizes->layers;
    copy->heads = sizes->heads;
    copy->width = sizes->width;
    copy->context = sizes->context;
    copy->kv_heads = sizes->kv_heads;
    copy->hidden = sizes->hidden;
    return copy;
}

#endif
