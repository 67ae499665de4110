/* activation.c - what happens to each number alone: GELU, and the sums of the residual stream. */
#include "model/layers.h"

void gelu_forward(const Kernels *k, float *y, const float *x, size_t n) {
    Share s = team_share(k, n, 16);
    k->isa->gelu(y + s.begin, x + s.begin, s.end - s.begin);
    team_barrier(k);
}

void gelu_backward(const Kernels *k, float *dx, const float *x, const float *dy, size_t n) {
    Share s = team_share(k, n, 16);
    k->isa->gelu_backward(dx + s.begin, x + s.begin, dy + s.begin, s.end - s.begin);
    team_barrier(k);
}

void residual_forward(const Kernels *k, float *y, const float *a, const float *b, size_t n) {
    Share s = team_share(k, n, 16);
    k->isa->sum(y + s.begin, a + s.begin, b + s.begin, s.end - s.begin);
    team_barrier(k);
}

void residual_add(const Kernels *k, float *dx, const float *dbranch, size_t n) {
    Share s = team_share(k, n, 16);
    k->isa->add(dx + s.begin, dbranch + s.begin, s.end - s.begin);
    team_barrier(k);
}
