/* convolution.c - each channel's own weighted sum of its last few tokens. */
#include "model/layers/program.h"

#include <string.h>

/* y += a b, number by number. */
static void add_product(float *restrict y, const float *restrict a, const float *restrict b,
                        size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

/* The number of taps that reach a token when `others` tokens are on that side of it. */
static size_t reach(int K, size_t others) {
    return others < (size_t)K ? others + 1 : (size_t)K;
}

void compute_convolution(const Thread *thread, float *y, const float *x, const float *taps, int B,
                         int T, int past, int K, int C) {
    size_t row = (size_t)C, length = (size_t)T, S = (size_t)past + length;
    Share share = team_share(thread, (size_t)B * length, 1);
    for (size_t n = share.begin; n < share.end; n++) {
        size_t s = (size_t)past + n % length;
        const float *from = x + (n / length * S + s) * row;
        float *to = y + n * row;
        memcpy(to, from, row * sizeof *to);
        for (size_t k = 0; k < reach(K, s); k++)
            add_product(to, taps + k * row, from - k * row, row);
    }
}

void compute_convolution_backward(const Thread *thread, float *dx, const float *dy,
                                  const float *taps, int B, int T, int K, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share share = team_share(thread, (size_t)B * length, 1);
    for (size_t n = share.begin; n < share.end; n++) {
        const float *from = dy + n * row;
        float *to = dx + n * row;
        memcpy(to, from, row * sizeof *to);
        for (size_t k = 0; k < reach(K, length - 1 - n % length); k++)
            add_product(to, taps + k * row, from + k * row, row);
    }
}

/* All tokens share the taps. So threads divide the channels: each sums its own in the order of the
 * tokens. */
void compute_convolution_gradients(const Thread *thread, float *dtaps, const float *dy,
                                   const float *x, int B, int T, int K, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share channels = team_share(thread, row, 16);
    size_t first = channels.begin, width = channels.end - first;
    for (size_t n = 0; n < (size_t)B * length; n++)
        for (size_t k = 0; k < reach(K, n % length); k++)
            add_product(dtaps + k * row + first, dy + n * row + first, x + (n - k) * row + first,
                        width);
}

/* ---- as instructions ---- */

static int channels_of(const Call *c) {
    return (int)c->in_row[0];
}

static int taps_of(const Call *c) {
    return c->instruction->taps;
}

static void forward(const Call *c) {
    const float *x = c->in[0] - (size_t)c->pass->past * c->in_row[0];
    compute_convolution(c->thread, c->out[0], x, c->tensors[0].w, c->pass->B, c->pass->T,
                        c->pass->past, taps_of(c), channels_of(c));
}

static void backward(const Call *c) {
    compute_convolution_backward(c->thread, c->out[0], c->in[0], c->tensors[0].w, c->pass->B,
                                 c->pass->T, taps_of(c), channels_of(c));
}

static void gradients(const Call *c) {
    compute_convolution_gradients(c->thread, c->tensors[0].dw, c->in[0], c->in[1], c->pass->B,
                                  c->pass->T, taps_of(c), channels_of(c));
}

static const Operation forward_operation = {
    .name = "convolution", .compute = forward, .reach = ALL_TOKENS};
static const Operation backward_operation = {
    .name = "convolution_backward", .compute = backward, .reach = ALL_TOKENS};
static const Operation gradients_operation = {
    .name = "convolution_gradients", .compute = gradients, .reach = ALL_TOKENS};

static Array add_convolution(Program *p, const Operation *operation, Array x, Table taps) {
    program_expect_width(p, operation->name, taps.weight, "the input", x, taps.width);
    Array y = program_array(p, x.width, PER_TOKEN);
    Instruction *made = program_add(p, operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    made->tensors[0] = taps.weight;
    made->taps = taps.rows;
    return y;
}

Array convolution(Program *p, Array x, Table taps) {
    program_cache(p, x);
    return add_convolution(p, &forward_operation, x, taps);
}

Array convolution_backward(Program *p, Array dy, Table taps) {
    return add_convolution(p, &backward_operation, dy, taps);
}

void convolution_gradients(Program *p, Table taps, Array dy, Array x) {
    program_expect_width(p, "convolution_gradients", taps.weight, "dy", dy, taps.width);
    program_expect_width(p, "convolution_gradients", taps.weight, "x", x, taps.width);
    Instruction *made = program_add_gradient(p, &gradients_operation, taps.weight);
    made->inputs[0] = dy;
    made->inputs[1] = x;
    made->tensors[0] = taps.weight;
    made->taps = taps.rows;
}
