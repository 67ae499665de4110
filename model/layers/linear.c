/* linear.c - the fully connected layer: three matrix products and a sum.
 *
 *     y[N,OC] = x[N,C] w[OC,C]^T + b[OC];  dx = dy w;  dw += dy^T x;  db += sum_n dy
 *
 * The team computes dw and db in two steps: the sums over each half of the tokens, halves[2,OC,C];
 * and, after a barrier, dw plus the first half plus the second. So each of two threads mostly reads
 * numbers that it wrote itself. If there is only one half, its sums begin from dw and db. */
#include "model/layers/tape.h"
#include "base/array.h"

/* out = in b + bias; b is the weights or their transpose, as the engine packs them. */
static void multiply(const Call *c, const float *bias) {
    size_t C = c->in_row[0], OC = c->out_row[0];
    Packed b = {c->tensors[0].packed, (int)C, (int)OC};
    c->thread->products->multiply(c->thread, c->out[0], OC, c->in[0], C, b, c->N, b.K, bias, b.N);
}

static void forward(const Call *c) {
    multiply(c, c->tensors[1].w);
}

static void backward(const Call *c) {
    multiply(c, NULL);
}

/* Returns the tokens of the first half: half of the stretches, where two threads divide them. */
static int first_half(int N) {
    return min_int(ceil_div_int(N, 2 * STRETCH) * STRETCH, N);
}

/* dw[size] += the first half, then the second. */
static void add_halves(const Thread *thread, float *dw, const float *halves, size_t size) {
    enum { LINE = 16, SOME = 1024 }; /* numbers that stay in the L1 cache */
    Share own = team_share(thread, size, LINE);
    for (size_t i = own.begin; i < own.end; i += SOME) {
        size_t count = own.end - i < SOME ? own.end - i : SOME;
        thread->isa->sum(dw + i, dw + i, halves + i, count);
        thread->isa->sum(dw + i, dw + i, halves + size + i, count);
    }
}

static void gradients(const Call *c) {
    size_t OC = c->in_row[0], C = c->in_row[1];
    int first = first_half(c->N);
    bool one = first == c->N, biased = c->tensors[1].dw;
    for (int i = 0; i < 2; i++) {
        size_t begin = i == 0 ? 0 : (size_t)first;
        int tokens = i == 0 ? first : c->N - first;
        Matrix dy = {c->in[0] + begin * OC, 1, OC}, x = {c->in[1] + begin * C, C, 1};
        float *dw = one ? c->tensors[0].dw : c->out[0] + (size_t)i * OC * C;
        float *db = one ? c->tensors[1].dw : biased ? c->out[1] + (size_t)i * OC : NULL;
        Thread member;
        if (tokens > 0 && team_half(c->thread, i, &member))
            c->thread->products->accumulate(&member, dw, C, dy, x, (int)OC, (int)C, tokens, db,
                                            !one);
    }
    if (one) return;
    team_barrier(c->thread);
    add_halves(c->thread, c->tensors[0].dw, c->out[0], OC * C);
    if (biased) add_halves(c->thread, c->tensors[1].dw, c->out[1], OC);
}

static double work(const Instruction *at, double tokens, double pairs) {
    (void)pairs;
    Array other = at->inputs[1].id ? at->inputs[1] : at->outputs[0];
    return tokens * at->inputs[0].width * other.width;
}

static const Operation operation = {.name = "linear",
                                    .title = "Linear layer: x times a matrix",
                                    .equation = "y = weight x + bias",
                                    .compute = forward,
                                    .packed = true,
                                    .work = work};
static const Operation backward_operation = {
    .name = "linear_backward", .compute = backward, .packed = true, .work = work};
static const Operation gradients_operation = {.name = "linear_gradients",
                                              .compute = gradients,
                                              .reach = ALL_TOKENS,
                                              .gradient = true,
                                              .work = work};
Linear tied(Table table) {
    return (Linear){.weight = table.weight, .in = table.width, .out = table.rows};
}

Array linear(Tape *p, Array x, Linear w) {
    tape_expect_width(p, "linear", w.weight, "x", x, w.in);
    tape_expect(p, p->backward_begin == 0, "linear",
                "weights are packed for one direction of a pass");
    return tape_map(p, &operation, x, w.out, (Instruction){.tensors = {w.weight, w.bias}});
}

Array linear_dx(Tape *p, Array dy, Linear w) {
    tape_expect_width(p, "linear_dx", w.weight, "dy", dy, w.out);
    tape_expect(p, p->backward_begin > 0, "linear_dx",
                "weights are packed for one direction of a pass");
    return tape_map(p, &backward_operation, dy, w.in, (Instruction){.tensors = {w.weight}});
}

void linear_gradients(Tape *p, Array dy, Array x, Linear w) {
    tape_expect_width(p, "linear_gradients", w.weight, "dy", dy, w.out);
    tape_expect_width(p, "linear_gradients", w.weight, "x", x, w.in);
    tape_add(p, (Instruction){.operation = &gradients_operation,
                              .inputs = {dy, x},
                              .outputs = {tape_sums(p, 2 * w.out, w.in),
                                          w.bias ? tape_sums(p, 2, w.out) : NO_ARRAY},
                              .tensors = {w.weight, w.bias}});
}

Array linear_backward(Tape *p, Array dy, Array x, Linear w) {
    linear_gradients(p, dy, x, w);
    return linear_dx(p, dy, w);
}
