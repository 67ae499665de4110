/* activation.c - what happens to each number alone: GELU, SwiGLU, and the sums of the residual
 * stream. */
#include "model/layers.h"

void gelu_forward(const Kernels *k, float *y, const float *x, size_t n) {
    k->isa->gelu(y, x, n);
}

void gelu_backward(const Kernels *k, float *dx, float *y, const float *x, const float *dy,
                   size_t n) {
    k->isa->gelu_backward(dx, y, x, dy, n);
}

void swiglu_forward(const Kernels *k, float *y, const float *gate, const float *up, size_t n) {
    k->isa->swiglu(y, gate, up, n);
}

void swiglu_backward(const Kernels *k, float *dgate, float *dup, float *y, const float *gate,
                     const float *up, const float *dy, size_t n) {
    k->isa->swiglu_backward(dgate, dup, y, gate, up, dy, n);
}

void residual_forward(const Kernels *k, float *y, const float *a, const float *b, size_t n) {
    k->isa->sum(y, a, b, n);
}

void residual_add(const Kernels *k, float *dx, const float *dbranch, size_t n) {
    k->isa->add(dx, dbranch, n);
}
