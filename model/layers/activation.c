/* activation.c - functions of each number alone: GELU, SwiGLU, and the sum of two arrays. */
#include "model/layers/program.h"

static size_t numbers(const Call *c) {
    return (size_t)c->N * c->out_row[0];
}

/* Adds an instruction whose arrays all have the width of the first input. Returns its outputs. */
static Instruction record(Program *p, const Operation *operation, const Array *inputs,
                          int input_count, int output_count) {
    Instruction made = {.operation = operation};
    int width = inputs[0].width;
    for (int i = 0; i < input_count; i++) {
        program_expect_width(p, operation->name, 0, "an input", inputs[i], width);
        made.inputs[i] = inputs[i];
    }
    for (int i = 0; i < output_count; i++) made.outputs[i] = program_array(p, width, PER_TOKEN);
    program_add(p, made);
    return made;
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
    .title = "GELU: small and negative numbers nearly become 0",
    .equation = "y = z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z^3))) / 2",
    .compute = gelu_forward};
static const Operation gelu_backward_operation = {
    .name = "gelu_backward", .compute = gelu_back, .reused = 1};

Array gelu(Program *p, Array x) {
    return record(p, &gelu_operation, (Array[]){x}, 1, 1).outputs[0];
}

Array gelu_backward(Program *p, Array *y, Array dy, Array x) {
    Instruction made = record(p, &gelu_backward_operation, (Array[]){dy, x}, 2, 2);
    *y = made.outputs[1];
    return made.outputs[0];
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

Array swiglu(Program *p, Array gate, Array up) {
    return record(p, &swiglu_operation, (Array[]){gate, up}, 2, 1).outputs[0];
}

void swiglu_backward(Program *p, Array *dgate, Array *dup, Array *y, Array dy, Array gate,
                     Array up) {
    Instruction made = record(p, &swiglu_backward_operation, (Array[]){dy, gate, up}, 3, 3);
    *dgate = made.outputs[0];
    *dup = made.outputs[1];
    *y = made.outputs[2];
}

/* ---- sum ---- */

static void add_forward(const Call *c) {
    c->thread->isa->sum(c->out[0], c->in[0], c->in[1], numbers(c));
}

static const Operation add_operation = {.name = "add",
                                        .title =
                                            "Residual sum: what the branch computed is added to x",
                                        .equation = "y = a + b",
                                        .compute = add_forward,
                                        .reused = 1};

Array add(Program *p, Array a, Array b) {
    return record(p, &add_operation, (Array[]){a, b}, 2, 1).outputs[0];
}
