/* norm.c - layer normalisation. */
#include "model/layers.h"

void layernorm_forward(const Kernels *k, float *y, float *mean, float *rstd, const float *x,
                       const float *w, const float *b, int N, int C) {
    size_t row = (size_t)C;
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *row))
    for (int n = 0; n < N; n++)
        k->isa->normalize(y + (size_t)n * row, mean + n, rstd + n, x + (size_t)n * row, w, b, C);
}

/* dw and db first: dx may overwrite dy. There the threads share out channels, each summed in the
 * order of the rows; here rows. */
void layernorm_backward(const Kernels *k, float *dx, float *dw, float *db, const float *dy,
                        const float *x, const float *mean, const float *rstd, const float *w, int N,
                        int C) {
    enum { CHUNK = 32 };
    size_t row = (size_t)C;
    int threads = kernels_threads(k, (size_t)N * row);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int c = 0; c < C; c += CHUNK)
            for (size_t n = 0; n < (size_t)N; n++)
                k->isa->normalize_gradients(dw + c, db + c, dy + n * row + c, x + n * row + c,
                                            mean[n], rstd[n], C - c < CHUNK ? C - c : CHUNK);
#pragma omp for schedule(static)
        for (int n = 0; n < N; n++)
            k->isa->normalize_backward(dx + (size_t)n * row, dy + (size_t)n * row,
                                       x + (size_t)n * row, mean[n], rstd[n], w, C);
    }
}
