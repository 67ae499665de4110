/* linear.c - the fully connected layer: three matrix products and a sum. */
#include "model/layers/program.h"
#include "base/array.h"

/* The right operand is w^T, [C,OC], forward, and w, [OC,C], backward. */
size_t linear_packed_size(const Isa *isa, const Products *products, int C, int OC) {
    size_t forward = products->packed_size(isa, C, OC);
    size_t backward = products->packed_size(isa, OC, C);
    return forward > backward ? forward : backward;
}

void linear_pack(const Thread *thread, float *packed, const float *w, int C, int OC,
                 bool backward) {
    if (backward)
        thread->products->pack(thread, packed, (Matrix){w, (size_t)C, 1}, OC, C);
    else
        thread->products->pack(thread, packed, (Matrix){w, 1, (size_t)C}, C, OC);
}

void compute_linear_columns(const Thread *thread, float *y, const float *x, Param w, Param b, int N,
                            int C, int OC, Share columns) {
    Matrix rows = {x, (size_t)C, 1};
    thread->products->multiply(thread, y, (size_t)OC, rows, (Packed){w.packed, C, OC}, N, C, b.w,
                               columns);
}

void compute_linear(const Thread *thread, float *y, const float *x, Param w, Param b, int N, int C,
                    int OC) {
    compute_linear_columns(thread, y, x, w, b, N, C, OC, (Share){0, (size_t)OC});
}

void compute_linear_backward(const Thread *thread, float *dx, const float *dy, Param w, int N,
                             int C, int OC) {
    compute_linear_columns(thread, dx, dy, w, (Param){0}, N, OC, C, (Share){0, (size_t)C});
}

/* The tokens of the first half: half of the stretches, which is where two threads divide them. */
static int first_half(int N) {
    int stretches = (N + STRETCH - 1) / STRETCH;
    return min_int((stretches + 1) / 2 * STRETCH, N);
}

void compute_linear_gradients(const Thread *thread, float *halves, float *bias_halves,
                              const float *dy, const float *x, int N, int C, int OC) {
    size_t row = (size_t)C, out_row = (size_t)OC;
    int first = first_half(N);
    for (int i = 0; i < 2; i++) {
        size_t begin = i == 0 ? 0 : (size_t)first;
        int tokens = i == 0 ? first : N - first;
        Matrix transposed = {dy + begin * out_row, 1, out_row}, rows = {x + begin * row, row, 1};
        Thread member;
        if (tokens > 0 && team_half(thread, i, &member))
            thread->products->accumulate(
                &member, halves + (size_t)i * out_row * row, row, transposed, rows, OC, C, tokens,
                bias_halves ? bias_halves + (size_t)i * out_row : NULL, true);
    }
}

/* dw[size] += the first half, then the second unless it has no tokens. */
static void reduce(const Thread *thread, float *dw, const float *halves, size_t size, bool both) {
    enum { LINE = 16, SOME = 1024 }; /* numbers that stay in the L1 cache */
    Share own = team_share(thread, size, LINE);
    for (size_t i = own.begin; i < own.end; i += SOME) {
        size_t count = own.end - i < SOME ? own.end - i : SOME;
        thread->isa->add(dw + i, halves + i, count);
        if (both) thread->isa->add(dw + i, halves + size + i, count);
    }
}

void compute_linear_gradients_reduce(const Thread *thread, Param w, Param b, const float *halves,
                                     const float *bias_halves, int N, int C, int OC) {
    bool both = first_half(N) < N;
    reduce(thread, w.dw, halves, (size_t)OC * (size_t)C, both);
    if (b.dw) reduce(thread, b.dw, bias_halves, (size_t)OC, both);
}

/* ---- as instructions ---- */

static void forward(const Call *c) {
    int C = (int)c->in_row[0], OC = (int)c->out_row[0];
    Share columns = {0, (size_t)OC};
    if (c->pass->single) columns = team_share(c->thread, (size_t)OC, PRODUCT_GRAIN);
    compute_linear_columns(c->thread, c->out[0], c->in[0], c->tensors[0], c->tensors[1], c->N, C,
                           OC, columns);
}

static void backward(const Call *c) {
    int C = (int)c->out_row[0], OC = (int)c->in_row[0];
    compute_linear_backward(c->thread, c->out[0], c->in[0], c->tensors[0], c->N, C, OC);
}

static void gradients(const Call *c) {
    int C = (int)c->in_row[1], OC = (int)c->in_row[0];
    compute_linear_gradients(c->thread, c->out[0], c->tensors[1].w ? c->out[1] : NULL, c->in[0],
                             c->in[1], c->N, C, OC);
}

static void gradients_reduce(const Call *c) {
    compute_linear_gradients_reduce(c->thread, c->tensors[0], c->tensors[1], c->in[0], c->in[1],
                                    c->N, (int)c->in_row[0], (int)c->in_row[1]);
}

static const Operation forward_operation = {
    .name = "linear", .compute = forward, .division = BY_COLUMNS, .packed = true};
static const Operation backward_operation = {
    .name = "linear_backward", .compute = backward, .packed = true};
static const Operation gradients_operation = {
    .name = "linear_gradients", .compute = gradients, .reach = ALL_TOKENS};
static const Operation reduce_operation = {
    .name = "reduce_gradients", .compute = gradients_reduce, .reach = ALL_TOKENS, .reduces = true};

Linear tied(Table table) {
    return (Linear){table.weight, -1, table.width, table.rows};
}

Array linear(Program *p, Array x, Linear w) {
    program_expect_width(p, "linear", w.weight, "x", x, w.in);
    program_expect(p, p->backward == 0, "linear", "weights are packed for one direction of a pass");
    Array y = program_array(p, w.out, PER_TOKEN);
    Instruction *made = program_add(p, &forward_operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    made->tensors[0] = w.weight;
    made->tensors[1] = w.bias;
    return y;
}

Array linear_backward(Program *p, Array dy, Linear w) {
    program_expect_width(p, "linear_backward", w.weight, "dy", dy, w.out);
    program_expect(p, p->backward > 0, "linear_backward",
                   "weights are packed for one direction of a pass");
    Array dx = program_array(p, w.in, PER_TOKEN);
    Instruction *made = program_add(p, &backward_operation);
    made->inputs[0] = dy;
    made->outputs[0] = dx;
    made->tensors[0] = w.weight;
    return dx;
}

void linear_gradients(Program *p, Linear w, Array dy, Array x) {
    program_expect_width(p, "linear_gradients", w.weight, "dy", dy, w.out);
    program_expect_width(p, "linear_gradients", w.weight, "x", x, w.in);
    Array halves = program_sums(p, 2 * w.out, w.in), bias_halves = program_sums(p, 2, w.out);
    Instruction *made = program_add_gradient(p, &gradients_operation, w.weight);
    made->inputs[0] = dy;
    made->inputs[1] = x;
    made->outputs[0] = halves;
    made->outputs[1] = bias_halves; /* without a bias, only its width counts */
    made->tensors[1] = w.bias;
    Instruction *last = program_add_gradient(p, &reduce_operation, w.weight);
    last->inputs[0] = halves;
    last->inputs[1] = bias_halves;
    last->tensors[0] = w.weight;
    last->tensors[1] = w.bias;
}
