/* norm.c - layer normalisation, and its plainer sister without mean and bias. */
#include "model/layers.h"

#include <string.h>

void layernorm_forward(const Kernels *k, float *y, float *mean, float *rstd, const float *x,
                       Param w, Param b, int N, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->normalize(y + n * row, mean + n, rstd + n, x + n * row, w.w, b.w, C);
}

void layernorm_again(const Kernels *k, float *y, const float *x, const float *mean,
                     const float *rstd, Param w, Param b, int N, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->normalize_again(y + n * row, x + n * row, mean[n], rstd[n], w.w, b.w, C);
}

void layernorm_backward(const Kernels *k, float *dx, float *sums, const float *dy, const float *x,
                        const float *mean, const float *rstd, Param w, int N, int C) {
    size_t row = (size_t)C;
    memset(sums, 0, 2 * row * sizeof *sums);
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->normalize_backward(dx + n * row, sums, sums + row, dy + n * row, x + n * row,
                                   mean[n], rstd[n], w.w, C);
}

/* Threads share out the channels. */
void layernorm_gradients(const Kernels *k, Param w, Param b, const float *sums, int count, int C) {
    size_t row = (size_t)C;
    Share channels = team_share(k, row, 16);
    size_t c = channels.begin, width = channels.end - c;
    for (size_t i = 0; i < (size_t)count; i++) {
        k->isa->add(w.dw + c, sums + 2 * i * row + c, width);
        k->isa->add(b.dw + c, sums + (2 * i + 1) * row + c, width);
    }
}

void rmsnorm_forward(const Kernels *k, float *y, float *rstd, const float *x, Param w, int N,
                     int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->rms_normalize(y + n * row, rstd + n, x + n * row, w.w, C);
}

void rmsnorm_again(const Kernels *k, float *y, const float *x, const float *rstd, Param w, int N,
                   int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->rms_normalize_again(y + n * row, x + n * row, rstd[n], w.w, C);
}

void rmsnorm_backward(const Kernels *k, float *dx, float *sums, const float *dy, const float *x,
                      const float *rstd, Param w, int N, int C) {
    size_t row = (size_t)C;
    memset(sums, 0, row * sizeof *sums);
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->rms_normalize_backward(dx + n * row, sums, dy + n * row, x + n * row, rstd[n], w.w,
                                       C);
}

void rmsnorm_gradients(const Kernels *k, Param w, const float *sums, int count, int C) {
    size_t row = (size_t)C;
    Share channels = team_share(k, row, 16);
    size_t c = channels.begin, width = channels.end - c;
    for (size_t i = 0; i < (size_t)count; i++) k->isa->add(w.dw + c, sums + i * row + c, width);
}
