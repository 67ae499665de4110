/* norm.c - layer normalization, and root-mean-square normalization without mean and bias.
 *
 *     layernorm: y = (x - mean) rstd w + b,  rstd = 1 / sqrt(variance + 1e-5)
 *     rmsnorm:   y = x rstd w,               rstd = 1 / sqrt(mean(x^2) + 1e-6)
 *
 * for each row: a token, or one head of it (Instruction.NH rows in a token). Only layernorm has a
 * bias, and saves the mean beside rstd. The gradients of the weights are summed in each stretch of
 * tokens, and then over the stretches in order. */
#include "model/layers/tape.h"
#include "base/array.h"

#include <string.h>

enum { RSTD = 1, MEAN = 2 }; /* saved by a norm: outputs, and inputs of its readers */
enum { STREAM = 3, DY = 4 }; /* inputs of a backward: the stream's gradient so far, and dy */

static size_t row_of(const Call *c) {
    return (size_t)(c->instruction->inputs[0].width / c->instruction->NH);
}

static void forward(const Call *c) {
    c->thread->isa->normalize(c->out[0], c->out[MEAN], c->out[RSTD], c->in[0], c->tensors[0].w,
                              c->tensors[1].w, c->N * c->instruction->NH, (int)row_of(c));
}

static int stretches(const Call *c) {
    return ceil_div_int(c->N, STRETCH);
}

/* Adds to the stream's gradient so far, and writes the parts of dw and db of each stretch. */
static void backward(const Call *c) {
    size_t row = row_of(c), bytes = (size_t)c->N * c->out_row[0] * sizeof(float);
    if (!c->in[STREAM])
        memset(c->out[0], 0, bytes);
    else if (c->in[STREAM] != c->out[0])
        memcpy(c->out[0], c->in[STREAM], bytes);
    memset(c->out[1], 0, (size_t)stretches(c) * c->out_row[1] * sizeof(float));
    const int NH = c->instruction->NH;
    for (int i = 0; i < stretches(c); i++) {
        const int tokens = min_int(STRETCH, c->N - i * STRETCH);
        const size_t n = (size_t)i * STRETCH * (size_t)NH;
        float *dw = c->out[1] + (size_t)i * c->out_row[1];
        c->thread->isa->normalize_backward(c->out[0] + n * row, dw,
                                           c->tensors[1].w ? dw + row : NULL, c->in[DY] + n * row,
                                           c->in[0] + n * row, c->in[MEAN] ? c->in[MEAN] + n : NULL,
                                           c->in[RSTD] + n, c->tensors[0].w, tokens * NH, (int)row);
    }
}

/* Threads divide the channels. */
static void gradients(const Call *c) {
    float *dw = c->tensors[0].dw, *db = c->tensors[1].dw;
    size_t row = c->in_row[0] / (db ? 2 : 1);
    Share own = team_share(c->thread, row, 16);
    for (int i = 0; i < stretches(c); i++) {
        const float *sums = c->in[0] + (size_t)i * c->in_row[0] + own.begin;
        const size_t width = own.end - own.begin;
        float *to_dw = dw + own.begin, *to_db = db ? db + own.begin : NULL;
        c->thread->isa->sum(to_dw, to_dw, sums, width);
        if (db) c->thread->isa->sum(to_db, to_db, sums + row, width);
    }
}

/* The operations of one norm. */
enum { FORWARD, BACKWARD, GRADIENTS, KINDS };

#define OPERATIONS(norm, formula)                                                           \
    {                                                                                       \
        [FORWARD] = {.name = norm,                                                          \
                     .title = "Norm: each x is brought to the same scale",                  \
                     .equation = formula,                                                   \
                     .compute = forward},                                                   \
        [BACKWARD] = {.name = norm "_backward", .compute = backward, .reused = 1 + STREAM}, \
        [GRADIENTS] = {                                                                     \
            .name = norm "_gradients",                                                      \
            .compute = gradients,                                                           \
            .reach = ALL_TOKENS,                                                            \
            .gradient = true                                                                \
        }                                                                                   \
    }

static const Operation layernorms[KINDS] =
    OPERATIONS("layernorm", "y = (x - mean) / sqrt(variance + 0.00001) * weight + bias");
static const Operation rmsnorms[KINDS] =
    OPERATIONS("rmsnorm", "y = x / sqrt(mean of x^2 + 0.000001) * weight");

/* Returns the rows of a token. */
static int rows_of(Tape *p, const Operation *operation, Array x, Norm w) {
    const bool whole = x.width > 0 && w.size > 0 && x.width % w.size == 0;
    tape_expect(p, whole, operation->name, "its weights' size does not divide the columns of x");
    return whole ? x.width / w.size : 1;
}

static Array record(Tape *p, const Operation *norm, Array x, Norm w) {
    const int NH = rows_of(p, &norm[FORWARD], x, w);
    tape_expect(p, !w.bias == (norm == rmsnorms), norm->name,
                w.bias ? "it takes no bias" : "its bias is missing");
    Instruction rest = {.tensors = {w.weight, w.bias}, .NH = NH};
    rest.outputs[RSTD] = tape_array(p, NH, PER_TOKEN);
    if (w.bias) rest.outputs[MEAN] = tape_array(p, NH, PER_TOKEN);
    return tape_map(p, &norm[FORWARD], x, x.width, rest);
}

static Array record_backward(Tape *p, const Operation *norm, Array dx, Array dy, Array x, Norm w) {
    tape_expect_width(p, norm[BACKWARD].name, w.weight, "dy", dy, x.width);
    if (dx.id) tape_expect_width(p, norm[BACKWARD].name, w.weight, "dx", dx, x.width);
    const Instruction of = *tape_user(p, &norm[FORWARD], x, w.weight);
    const Array sums = tape_array(p, w.bias ? 2 * w.size : w.size, PER_STRETCH);
    Instruction rest = {.outputs = {[1] = sums},
                        .tensors = {w.weight, w.bias},
                        .NH = rows_of(p, &norm[BACKWARD], x, w)};
    rest.inputs[RSTD] = of.outputs[RSTD];
    rest.inputs[MEAN] = of.outputs[MEAN];
    rest.inputs[STREAM] = dx;
    rest.inputs[DY] = dy;
    const Array made = tape_map(p, &norm[BACKWARD], x, x.width, rest);
    tape_add(p, (Instruction){.operation = &norm[GRADIENTS],
                              .inputs = {sums},
                              .tensors = {w.weight, w.bias}});
    return made;
}

Array layernorm(Tape *p, Array x, Norm w) {
    return record(p, layernorms, x, w);
}

Array layernorm_backward(Tape *p, Array dx, Array dy, Array x, Norm w) {
    return record_backward(p, layernorms, dx, dy, x, w);
}

Array rmsnorm(Tape *p, Array x, Norm w) {
    return record(p, rmsnorms, x, w);
}

Array rmsnorm_backward(Tape *p, Array dx, Array dy, Array x, Norm w) {
    return record_backward(p, rmsnorms, dx, dy, x, w);
}
