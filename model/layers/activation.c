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

Array gelu(Program *p, Array x) {
    Array y = program_array(p, x.width, PER_TOKEN);
    Instruction *made = program_add(p, &gelu_operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    return y;
}

Array gelu_backward(Program *p, Array *y, Array dy, Array x) {
    program_expect_width(p, "gelu_backward", -1, "dy", dy, x.width);
    Array dx = program_array(p, x.width, PER_TOKEN);
    *y = program_array(p, x.width, PER_TOKEN);
    Instruction *made = program_add(p, &gelu_backward_operation);
    made->inputs[0] = dy;
    made->inputs[1] = x;
    made->outputs[0] = dx;
    made->outputs[1] = *y;
    return dx;
}

Array swiglu(Program *p, Array gate, Array up) {
    program_expect_width(p, "swiglu", -1, "up", up, gate.width);
    Array y = program_array(p, gate.width, PER_TOKEN);
    Instruction *made = program_add(p, &swiglu_operation);
    made->inputs[0] = gate;
    made->inputs[1] = up;
    made->outputs[0] = y;
    return y;
}

void swiglu_backward(Program *p, Array *dgate, Array *dup, Array *y, Array dy, Array gate,
                     Array up) {
    program_expect_width(p, "swiglu_backward", -1, "dy", dy, gate.width);
    program_expect_width(p, "swiglu_backward", -1, "up", up, gate.width);
    *dgate = program_array(p, gate.width, PER_TOKEN);
    *dup = program_array(p, gate.width, PER_TOKEN);
    *y = program_array(p, gate.width, PER_TOKEN);
    Instruction *made = program_add(p, &swiglu_backward_operation);
    made->inputs[0] = dy;
    made->inputs[1] = gate;
    made->inputs[2] = up;
    made->outputs[0] = *dgate;
    made->outputs[1] = *dup;
    made->outputs[2] = *y;
}

Array add(Program *p, Array a, Array b) {
    program_expect_width(p, "add", -1, "b", b, a.width);
    Array y = program_array(p, a.width, PER_TOKEN);
    Instruction *made = program_add(p, &add_operation);
    made->inputs[0] = a;
    made->inputs[1] = b;
    made->outputs[0] = y;
    return y;
}
