/* activation.c - functions of each number alone: GELU, SwiGLU, and the sum of two arrays. */
#include "model/layers/program.h"

void compute_gelu(const Thread *thread, float *y, const float *x, size_t n) {
    thread->isa->gelu(y, x, n);
}

void compute_gelu_backward(const Thread *thread, float *dx, float *y, const float *x,
                           const float *dy, size_t n) {
    thread->isa->gelu_backward(dx, y, x, dy, n);
}

void compute_swiglu(const Thread *thread, float *y, const float *gate, const float *up, size_t n) {
    thread->isa->swiglu(y, gate, up, n);
}

void compute_swiglu_backward(const Thread *thread, float *dgate, float *dup, float *y,
                             const float *gate, const float *up, const float *dy, size_t n) {
    thread->isa->swiglu_backward(dgate, dup, y, gate, up, dy, n);
}

void compute_sum(const Thread *thread, float *y, const float *a, const float *b, size_t n) {
    thread->isa->sum(y, a, b, n);
}

/* ---- as instructions ---- */

static size_t numbers(const Call *c) {
    return (size_t)c->N * c->out_row[0];
}

static void gelu_call(const Call *c) {
    compute_gelu(c->thread, c->out[0], c->in[0], numbers(c));
}

static void gelu_backward_call(const Call *c) {
    compute_gelu_backward(c->thread, c->out[0], c->out[1], c->in[1], c->in[0], numbers(c));
}

static void swiglu_call(const Call *c) {
    compute_swiglu(c->thread, c->out[0], c->in[0], c->in[1], numbers(c));
}

static void swiglu_backward_call(const Call *c) {
    compute_swiglu_backward(c->thread, c->out[0], c->out[1], c->out[2], c->in[1], c->in[2],
                            c->in[0], numbers(c));
}

static void add_call(const Call *c) {
    compute_sum(c->thread, c->out[0], c->in[0], c->in[1], numbers(c));
}

static const Operation gelu_operation = {.name = "gelu", .compute = gelu_call};
static const Operation gelu_backward_operation = {
    .name = "gelu_backward", .compute = gelu_backward_call, .reused = 1};
static const Operation swiglu_operation = {.name = "swiglu", .compute = swiglu_call};
static const Operation swiglu_backward_operation = {
    .name = "swiglu_backward", .compute = swiglu_backward_call, .reused = 1};
static const Operation add_operation = {.name = "add", .compute = add_call, .reused = 1};

/* Adds an instruction whose arrays all have the width of the first input; makes its outputs. */
static const Array *add_elementwise(Program *p, const Operation *operation, const Array *inputs,
                                    int input_count, int output_count) {
    int width = inputs[0].width;
    Instruction *made = program_add(p, operation);
    for (int i = 0; i < input_count; i++) {
        program_expect_width(p, operation->name, -1, "an input", inputs[i], width);
        made->inputs[i] = inputs[i];
    }
    for (int i = 0; i < output_count; i++) made->outputs[i] = program_array(p, width, PER_TOKEN);
    return made->outputs;
}

Array gelu(Program *p, Array x) {
    return add_elementwise(p, &gelu_operation, (Array[]){x}, 1, 1)[0];
}

Array gelu_backward(Program *p, Array *y, Array dy, Array x) {
    const Array *made = add_elementwise(p, &gelu_backward_operation, (Array[]){dy, x}, 2, 2);
    *y = made[1];
    return made[0];
}

Array swiglu(Program *p, Array gate, Array up) {
    return add_elementwise(p, &swiglu_operation, (Array[]){gate, up}, 2, 1)[0];
}

void swiglu_backward(Program *p, Array *dgate, Array *dup, Array *y, Array dy, Array gate,
                     Array up) {
    const Array *made =
        add_elementwise(p, &swiglu_backward_operation, (Array[]){dy, gate, up}, 3, 3);
    *dgate = made[0];
    *dup = made[1];
    *y = made[2];
}

Array add(Program *p, Array a, Array b) {
    return add_elementwise(p, &add_operation, (Array[]){a, b}, 2, 1)[0];
}
