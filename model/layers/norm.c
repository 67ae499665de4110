/* norm.c - layer normalisation, and root-mean-square normalisation without mean and bias. */
#include "model/layers/program.h"
#include "base/array.h"

#include <string.h>

void compute_layernorm(const Thread *thread, float *y, float *mean, float *rstd, const float *x,
                       Param w, Param b, int N, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->normalize(y + n * row, mean + n, rstd + n, x + n * row, w.w, b.w, C);
}

void compute_layernorm_recompute(const Thread *thread, float *y, const float *x, const float *mean,
                                 const float *rstd, Param w, Param b, int N, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->normalize_recompute(y + n * row, x + n * row, mean[n], rstd[n], w.w, b.w, C);
}

void compute_layernorm_backward(const Thread *thread, float *dx, float *sums, const float *dy,
                                const float *x, const float *mean, const float *rstd, Param w,
                                int N, int C) {
    size_t row = (size_t)C;
    memset(sums, 0, 2 * row * sizeof *sums);
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->normalize_backward(dx + n * row, sums, sums + row, dy + n * row, x + n * row,
                                        mean[n], rstd[n], w.w, C);
}

/* Threads divide the channels. */
void compute_layernorm_gradients(const Thread *thread, Param w, Param b, const float *sums,
                                 int count, int C) {
    size_t row = (size_t)C;
    Share channels = team_share(thread, row, 16);
    size_t c = channels.begin, width = channels.end - c;
    for (size_t i = 0; i < (size_t)count; i++) {
        thread->isa->add(w.dw + c, sums + 2 * i * row + c, width);
        thread->isa->add(b.dw + c, sums + (2 * i + 1) * row + c, width);
    }
}

void compute_rmsnorm(const Thread *thread, float *y, float *rstd, const float *x, Param w, int N,
                     int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->rms_normalize(y + n * row, rstd + n, x + n * row, w.w, C);
}

void compute_rmsnorm_recompute(const Thread *thread, float *y, const float *x, const float *rstd,
                               Param w, int N, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->rms_normalize_recompute(y + n * row, x + n * row, rstd[n], w.w, C);
}

void compute_rmsnorm_backward(const Thread *thread, float *dx, float *sums, const float *dy,
                              const float *x, const float *rstd, Param w, int N, int C) {
    size_t row = (size_t)C;
    memset(sums, 0, row * sizeof *sums);
    for (size_t n = 0; n < (size_t)N; n++)
        thread->isa->rms_normalize_backward(dx + n * row, sums, dy + n * row, x + n * row, rstd[n],
                                            w.w, C);
}

void compute_rmsnorm_gradients(const Thread *thread, Param w, const float *sums, int count, int C) {
    size_t row = (size_t)C;
    Share channels = team_share(thread, row, 16);
    size_t c = channels.begin, width = channels.end - c;
    for (size_t i = 0; i < (size_t)count; i++)
        thread->isa->add(w.dw + c, sums + i * row + c, width);
}

/* ---- as instructions ----
 * Instruction.NH is the number of rows in a token: 1, or NH for a norm of each head. */

enum { STREAM = 3, DY = 4 }; /* inputs of a backward: the stream's gradient so far, and dy */

/* The rows that this thread computes. */
static Share rows_of(const Call *c) {
    size_t rows = (size_t)c->N * (size_t)c->instruction->NH;
    bool divided = c->pass->single && c->instruction->operation->division == BY_HEADS;
    return divided ? team_share(c->thread, rows, 1) : (Share){0, rows};
}

static int size_of_row(const Call *c) {
    return c->instruction->inputs[0].width / c->instruction->NH;
}

static void layernorm_call(const Call *c) {
    compute_layernorm(c->thread, c->out[0], c->out[1], c->out[2], c->in[0], c->tensors[0],
                      c->tensors[1], c->N * c->instruction->NH, size_of_row(c));
}

static void layernorm_recompute_call(const Call *c) {
    compute_layernorm_recompute(c->thread, c->out[0], c->in[0], c->in[1], c->in[2], c->tensors[0],
                                c->tensors[1], c->N * c->instruction->NH, size_of_row(c));
}

static void rmsnorm_call(const Call *c) {
    int size = size_of_row(c);
    Share own = rows_of(c);
    size_t at = own.begin * (size_t)size;
    compute_rmsnorm(c->thread, c->out[0] + at, c->out[1] + own.begin, c->in[0] + at, c->tensors[0],
                    (int)(own.end - own.begin), size);
}

static void rmsnorm_recompute_call(const Call *c) {
    compute_rmsnorm_recompute(c->thread, c->out[0], c->in[0], c->in[1], c->tensors[0],
                              c->N * c->instruction->NH, size_of_row(c));
}

/* Sets dx to the stream's gradient so far; the backward adds to it. */
static void begin_gradient(const Call *c) {
    size_t bytes = (size_t)c->N * c->out_row[0] * sizeof(float);
    if (!c->in[STREAM])
        memset(c->out[0], 0, bytes);
    else if (c->in[STREAM] != c->out[0])
        memcpy(c->out[0], c->in[STREAM], bytes);
}

/* The tokens of the call in stretches, of which each has its row of sums. */
static int stretches(const Call *c) {
    return (c->N + STRETCH - 1) / STRETCH;
}

/* The rows of stretch i. */
static Share rows_of_stretch(const Call *c, int i) {
    size_t heads = (size_t)c->instruction->NH, end = (size_t)min_int((i + 1) * STRETCH, c->N);
    return (Share){(size_t)i * STRETCH * heads, end * heads};
}

static void layernorm_backward_call(const Call *c) {
    int size = size_of_row(c);
    begin_gradient(c);
    for (int i = 0; i < stretches(c); i++) {
        Share rows = rows_of_stretch(c, i);
        size_t n = rows.begin, at = n * (size_t)size;
        compute_layernorm_backward(c->thread, c->out[0] + at, c->out[1] + (size_t)i * c->out_row[1],
                                   c->in[DY] + at, c->in[0] + at, c->in[1] + n, c->in[2] + n,
                                   c->tensors[0], (int)(rows.end - n), size);
    }
}

static void rmsnorm_backward_call(const Call *c) {
    int size = size_of_row(c);
    begin_gradient(c);
    for (int i = 0; i < stretches(c); i++) {
        Share rows = rows_of_stretch(c, i);
        size_t n = rows.begin, at = n * (size_t)size;
        compute_rmsnorm_backward(c->thread, c->out[0] + at, c->out[1] + (size_t)i * c->out_row[1],
                                 c->in[DY] + at, c->in[0] + at, c->in[1] + n, c->tensors[0],
                                 (int)(rows.end - n), size);
    }
}

static void layernorm_gradients_call(const Call *c) {
    compute_layernorm_gradients(c->thread, c->tensors[0], c->tensors[1], c->in[0], stretches(c),
                                (int)c->in_row[0] / 2);
}

static void rmsnorm_gradients_call(const Call *c) {
    compute_rmsnorm_gradients(c->thread, c->tensors[0], c->in[0], stretches(c), (int)c->in_row[0]);
}

static const Operation layernorm_operation = {.name = "layernorm", .compute = layernorm_call};
static const Operation layernorm_recompute_operation = {.name = "layernorm_recompute",
                                                        .compute = layernorm_recompute_call};
static const Operation layernorm_backward_operation = {
    .name = "layernorm_backward", .compute = layernorm_backward_call, .reused = 1 + STREAM};
static const Operation layernorm_gradients_operation = {
    .name = "layernorm_gradients", .compute = layernorm_gradients_call, .reach = ALL_TOKENS};

static const Operation rmsnorm_operation = {.name = "rmsnorm", .compute = rmsnorm_call};
static const Operation rmsnorm_of_heads_operation = {
    .name = "rmsnorm", .compute = rmsnorm_call, .division = BY_HEADS};
static const Operation rmsnorm_recompute_operation = {.name = "rmsnorm_recompute",
                                                      .compute = rmsnorm_recompute_call};
static const Operation rmsnorm_backward_operation = {
    .name = "rmsnorm_backward", .compute = rmsnorm_backward_call, .reused = 1 + STREAM};
static const Operation rmsnorm_gradients_operation = {
    .name = "rmsnorm_gradients", .compute = rmsnorm_gradients_call, .reach = ALL_TOKENS};

/* Adds an instruction that reads x and the weights and writes an array of x's width. */
static Instruction *add_norm(Program *p, const Operation *operation, Array x, Norm w) {
    program_expect(p, x.width > 0 && x.width % w.size == 0, "a norm",
                   "the size of its weights does not divide the columns of x");
    Array y = program_array(p, x.width, PER_TOKEN);
    Instruction *made = program_add(p, operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    made->tensors[0] = w.weight;
    made->tensors[1] = w.bias;
    made->NH = x.width / w.size;
    return made;
}

static Array normalize(Program *p, const Operation *operation, Array x, Norm w, int statistics) {
    Instruction *made = add_norm(p, operation, x, w);
    for (int i = 1; i <= statistics; i++) made->outputs[i] = program_array(p, made->NH, PER_TOKEN);
    return made->outputs[0];
}

/* The same, which also reads the statistics that the norm saved. */
static Instruction *add_with_statistics(Program *p, const Operation *operation,
                                        const Operation *saved, Array x, Norm w) {
    Instruction of = *program_user(p, saved, x, w.weight);
    Instruction *made = add_norm(p, operation, x, w);
    made->inputs[1] = of.outputs[1];
    made->inputs[2] = of.outputs[2];
    return made;
}

/* The gradients of the weights are summed in each stretch of tokens, and then over the stretches.
 */
static Array add_backward(Program *p, const Operation *operation, const Operation *gradients,
                          const Operation *saved, Array dx, Array dy, Array x, Norm w) {
    program_expect_width(p, "the backward of a norm", w.weight, "dy", dy, x.width);
    Array sums = program_array(p, w.bias < 0 ? w.size : 2 * w.size, PER_STRETCH);
    Instruction *made = add_with_statistics(p, operation, saved, x, w);
    made->inputs[STREAM] = dx;
    made->inputs[DY] = dy;
    made->outputs[1] = sums;
    Array result = made->outputs[0];
    Instruction *last = program_add_gradient(p, gradients, w.weight);
    last->inputs[0] = sums;
    last->tensors[0] = w.weight;
    last->tensors[1] = w.bias;
    return result;
}

Array layernorm(Program *p, Array x, Norm w) {
    return normalize(p, &layernorm_operation, x, w, 2);
}

Array layernorm_recompute(Program *p, Array x, Norm w) {
    return add_with_statistics(p, &layernorm_recompute_operation, &layernorm_operation, x, w)
        ->outputs[0];
}

Array layernorm_backward(Program *p, Array dx, Array dy, Array x, Norm w) {
    return add_backward(p, &layernorm_backward_operation, &layernorm_gradients_operation,
                        &layernorm_operation, dx, dy, x, w);
}

static const Operation *rmsnorm_of(Array x, Norm w) {
    return x.width > w.size ? &rmsnorm_of_heads_operation : &rmsnorm_operation;
}

Array rmsnorm(Program *p, Array x, Norm w) {
    return normalize(p, rmsnorm_of(x, w), x, w, 1);
}

Array rmsnorm_recompute(Program *p, Array x, Norm w) {
    return add_with_statistics(p, &rmsnorm_recompute_operation, rmsnorm_of(x, w), x, w)->outputs[0];
}

Array rmsnorm_backward(Program *p, Array dx, Array dy, Array x, Norm w) {
    return add_backward(p, &rmsnorm_backward_operation, &rmsnorm_gradients_operation,
                        rmsnorm_of(x, w), dx, dy, x, w);
}
