/* convolution.c - each channel's own weighted sum of its last few tokens.
 *
 *     y[b,t]  = x[b,t] + sum_(k < K) taps[k] x[b,t-k]
 *     dx[b,s] = dy[b,s] + sum_(k < K) taps[k] dy[b,s+k]
 *     dtaps[k] += sum_(b,t) dy[b,t] x[b,t-k]
 *
 * number by number, taps[K,C]; x is 0 before the first token. */
#include "model/layers/tape.h"
#include "base/array.h"

/* Returns the number of taps for a token with `others` tokens before it; backward, after it. */
static int taps_of(const Call *c, size_t others) {
    return (int)others < c->instruction->taps ? (int)others + 1 : c->instruction->taps;
}

static void forward(const Call *c) {
    size_t width = c->out_row[0], T = (size_t)c->pass->T, row;
    Share own = team_share(c->thread, (size_t)c->N, 1);
    for (size_t n = own.begin; n < own.end; n++) {
        size_t s = position_of(c->pass, n);
        const float *x = cached_rows(c, 0, 1, n / T, &row) + s * row;
        c->thread->isa->convolve(c->out[0] + n * width, x, -(ptrdiff_t)row, c->tensors[0].w, width,
                                 taps_of(c, s), (int)width);
    }
}

static void backward(const Call *c) {
    size_t row = c->in_row[0], T = (size_t)c->pass->T;
    Share own = team_share(c->thread, (size_t)c->N, 1);
    for (size_t n = own.begin; n < own.end; n++) {
        c->thread->isa->convolve(c->out[0] + n * row, c->in[0] + n * row, (ptrdiff_t)row,
                                 c->tensors[0].w, row, taps_of(c, T - 1 - n % T), (int)row);
    }
}

/* All tokens share the taps. So threads divide the channels: each sums its own in the order of the
 * tokens. It takes few tokens at a time, so that it reads memory almost in order. */
static void gradients(const Call *c) {
    enum { AT_ONCE = 8 };
    size_t row = c->in_row[0], T = (size_t)c->pass->T;
    Share own = team_share(c->thread, row, 16);
    size_t lacking = (size_t)c->instruction->taps - 1; /* tokens that lack taps */
    for (size_t n = 0, tokens; n < (size_t)c->N; n += tokens) {
        size_t t = n % T;
        tokens = t < lacking ? 1 : min_size(AT_ONCE, T - t);
        c->thread->isa->convolve_gradients(c->tensors[0].dw + own.begin,
                                           c->in[0] + n * row + own.begin,
                                           c->in[1] + n * row + own.begin, row, (int)tokens,
                                           taps_of(c, t), (int)(own.end - own.begin));
    }
}

static const Operation operation = {
    .name = "convolution",
    .title = "Convolution: each x takes a share of the characters before it",
    .equation = "y[t] = x[t] + taps[0] x[t] + taps[1] x[t-1] + ... in each channel",
    .compute = forward,
    .reach = ALL_TOKENS};
static const Operation backward_operation = {
    .name = "convolution_backward", .compute = backward, .reach = ALL_TOKENS};
static const Operation gradients_operation = {
    .name = "convolution_gradients", .compute = gradients, .reach = ALL_TOKENS, .gradient = true};

static Array record(Tape *p, const Operation *of, Array x, Table taps, Array earlier) {
    tape_expect_width(p, of->name, taps.weight, "the input", x, taps.width);
    Instruction rest = {.outputs = {[1] = earlier}, .tensors = {taps.weight}, .taps = taps.rows};
    return tape_map(p, of, x, x.width, rest);
}

Array convolution(Tape *p, Array x, Table taps) {
    return record(p, &operation, x, taps, tape_cache(p, x.width));
}

Array convolution_backward(Tape *p, Array dy, Array x, Table taps) {
    tape_expect_width(p, "convolution_backward", taps.weight, "x", x, taps.width);
    tape_add(p, (Instruction){.operation = &gradients_operation,
                              .inputs = {dy, x},
                              .tensors = {taps.weight},
                              .taps = taps.rows});
    return record(p, &backward_operation, dy, taps, NO_ARRAY);
}
