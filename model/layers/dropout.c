/* dropout.c - noise that keeps a model from relying on any one channel (Srivastava et al., 2014).
 *
 *     y = 0 with probability `rate`, else x / (1 - rate)
 *
 * The mask follows from its key and the row, so the backward is the same call, from dy to dx. */
#include "model/layers/tape.h"
#include "base/random.h"

#include <string.h>

Dropout dropout_of(const Call *c) {
    const Instruction *at = c->instruction;
    if (at->site == NO_DROPOUT || c->pass->dropout == 0) return (Dropout){0};
    uint64_t site = (uint64_t)at->site << 32 | (uint64_t)at->block;
    return (Dropout){.rate = c->pass->dropout,
                     .key = random_bits(c->pass->masks, site),
                     .first = c->pass->before};
}

DropoutRow dropout_row(Dropout dropout, size_t row) {
    double keep = 1.0 - (double)dropout.rate;
    return (DropoutRow){.key = random_bits(dropout.key, row),
                        .threshold = (uint32_t)(keep * 4294967295.0),
                        .scale = (float)(1.0 / keep)};
}

static void forward(const Call *c) {
    Dropout dropout = dropout_of(c);
    size_t row = c->out_row[0];
    if (dropout.rate > 0)
        for (size_t n = 0; n < (size_t)c->N; n++)
            c->thread->isa->dropout(c->out[0] + n * row, c->in[0] + n * row,
                                    dropout_row(dropout, dropout.first + c->first + n), (int)row);
    else if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], (size_t)c->N * row * sizeof(float));
}

static const Operation operation = {.name = "dropout", .compute = forward, .reused = 1};

/* Adds no instruction if nothing is dropped. */
Array dropout(Tape *p, Array x, int site) {
    if (!p->training || p->dropout == 0) return x;
    return tape_map(p, &operation, x, x.width, (Instruction){.site = site});
}

Array dropout_backward(Tape *p, Array dy, int site) {
    return dropout(p, dy, site);
}
