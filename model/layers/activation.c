/* activation.c - elementwise functions: GELU, SwiGLU, and the sum of two arrays. */
#include "model/layers/tape.h"

static size_t numbers(const Call *c) {
    return (size_t)c->N * c->out_row[0];
}

/* ---- GELU ---- */

static void gelu_forward(const Call *c) {
    c->thread->isa->gelu(c->out[0], c->in[0], numbers(c));
}

/* dx, y <- dy, x */
static void gelu_back(const Call *c) {
    c->thread->isa->gelu_backward(c->out[0], c->out[1], c->in[1], c->in[0], numbers(c));
}

static const Operation gelu_operation = {
    .name = "gelu",
    .title = "GELU: negative numbers become nearly 0",
    .equation = "y = z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z^3))) / 2",
    .compute = gelu_forward};
static const Operation gelu_backward_operation = {
    .name = "gelu_backward", .compute = gelu_back, .reused = 1};

Array gelu(Tape *p, Array x) {
    return tape_map(p, &gelu_operation, x, x.width, (Instruction){0});
}

Array gelu_backward(Tape *p, Array *y, Array dy, Array x) {
    tape_expect_width(p, "gelu_backward", NO_TENSOR, "dy", dy, x.width);
    *y = tape_array(p, x.width, PER_TOKEN);
    Instruction rest = {.inputs = {[1] = x}, .outputs = {[1] = *y}};
    return tape_map(p, &gelu_backward_operation, dy, x.width, rest);
}

/* ---- SwiGLU ---- */

static void swiglu_forward(const Call *c) {
    c->thread->isa->swiglu(c->out[0], c->in[0], c->in[1], numbers(c));
}

/* dgate, dup, y <- dy, gate, up */
static void swiglu_back(const Call *c) {
    c->thread->isa->swiglu_backward(c->out[0], c->out[1], c->out[2], c->in[1], c->in[2], c->in[0],
                                    numbers(c));
}

static const Operation swiglu_operation = {
    .name = "swiglu",
    .title = "SwiGLU: the gate decides how much of each neuron passes",
    .equation = "y = silu(gate) * up, with silu(g) = g / (1 + e^-g)",
    .compute = swiglu_forward};
static const Operation swiglu_backward_operation = {
    .name = "swiglu_backward", .compute = swiglu_back, .reused = 1};

Array swiglu(Tape *p, Array gate, Array up) {
    tape_expect_width(p, "swiglu", NO_TENSOR, "up", up, gate.width);
    return tape_map(p, &swiglu_operation, gate, gate.width, (Instruction){.inputs = {[1] = up}});
}

void swiglu_backward(Tape *p, Array *dgate, Array *dup, Array *y, Array dy, Array gate, Array up) {
    tape_expect_width(p, "swiglu_backward", NO_TENSOR, "dy", dy, gate.width);
    *dup = tape_array(p, dy.width, PER_TOKEN);
    *y = tape_array(p, dy.width, PER_TOKEN);
    Instruction rest = {.inputs = {[1] = gate, up}, .outputs = {[1] = *dup, *y}};
    *dgate = tape_map(p, &swiglu_backward_operation, dy, dy.width, rest);
}

/* ---- sum ---- */

static void add_forward(const Call *c) {
    c->thread->isa->sum(c->out[0], c->in[0], c->in[1], numbers(c));
}

static const Operation add_operation = {.name = "add",
                                        .title =
                                            "Residual sum: the result of the branch is added to x",
                                        .equation = "y = a + b",
                                        .compute = add_forward,
                                        .reused = 1};

Array add(Tape *p, Array a, Array b) {
    tape_expect_width(p, "add", NO_TENSOR, "an input", b, a.width);
    return tape_map(p, &add_operation, a, a.width, (Instruction){.inputs = {[1] = b}});
}
