/* activation.c - what happens to each number alone: GELU, and the sums of the residual stream. */
#include "model/layers.h"

enum { CHUNK = 4096 }; /* numbers that a thread takes at a time */

static size_t chunk_of(size_t n, size_t start) {
    return n - start < CHUNK ? n - start : CHUNK;
}

void gelu_forward(const Kernels *k, float *y, const float *x, size_t n) {
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, n))
    for (size_t i = 0; i < n; i += CHUNK) k->isa->gelu(y + i, x + i, chunk_of(n, i));
}

void gelu_backward(const Kernels *k, float *dx, const float *x, const float *dy, size_t n) {
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, n))
    for (size_t i = 0; i < n; i += CHUNK)
        k->isa->gelu_backward(dx + i, x + i, dy + i, chunk_of(n, i));
}

void residual_forward(const Kernels *k, float *y, const float *a, const float *b, size_t n) {
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, n))
    for (size_t i = 0; i < n; i += CHUNK) k->isa->sum(y + i, a + i, b + i, chunk_of(n, i));
}

void residual_add(const Kernels *k, float *dx, const float *dbranch, size_t n) {
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, n))
    for (size_t i = 0; i < n; i += CHUNK) k->isa->add(dx + i, dbranch + i, chunk_of(n, i));
}
