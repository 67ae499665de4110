/* convolution.c - each channel's own weighted sum of its last few tokens. */
#include "model/layers/program.h"
#include "base/array.h"

/* The number of taps that reach a token when `others` tokens are on that side of it. */
static int reach(int K, int others) {
    return others < K ? others + 1 : K;
}

void compute_convolution(const Thread *thread, float *y, const float *x, const float *taps, int B,
                         int T, int past, int K, int C) {
    size_t row = (size_t)C, length = (size_t)T, S = (size_t)past + length;
    Share share = team_share(thread, (size_t)B * length, 1);
    for (size_t n = share.begin; n < share.end; n++) {
        size_t s = (size_t)past + n % length;
        thread->isa->convolve(y + n * row, x + (n / length * S + s) * row, -(ptrdiff_t)C, taps, row,
                              reach(K, (int)s), C);
    }
}

void compute_convolution_backward(const Thread *thread, float *dx, const float *dy,
                                  const float *taps, int B, int T, int K, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share share = team_share(thread, (size_t)B * length, 1);
    for (size_t n = share.begin; n < share.end; n++)
        thread->isa->convolve(dx + n * row, dy + n * row, C, taps, row,
                              reach(K, (int)(length - 1 - n % length)), C);
}

/* All tokens share the taps. So threads divide the channels: each sums its own in the order of the
 * tokens. It takes few tokens at a time, so that it reads memory almost in order. */
void compute_convolution_gradients(const Thread *thread, float *dtaps, const float *dy,
                                   const float *x, int B, int T, int K, int C) {
    enum { AT_ONCE = 8 };
    Share channels = team_share(thread, (size_t)C, 16);
    size_t row = (size_t)C, first = channels.begin;
    int width = (int)(channels.end - first);
    for (int b = 0; b < B; b++)
        for (int t = 0, tokens; t < T; t += tokens) {
            size_t at = ((size_t)b * (size_t)T + (size_t)t) * row + first;
            tokens = t < K - 1 ? 1 : min_int(AT_ONCE, T - t); /* the first lack taps */
            thread->isa->convolve_gradients(dtaps + first, dy + at, x + at, row, tokens,
                                            reach(K, t), width);
        }
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
