/* mean.c - the plainest way to look back: the mean of all tokens so far. */
#include "model/layers.h"

#include <assert.h>
#include <string.h>

enum { CHUNK = 32 }; /* channels that one thread carries through a sequence */

static int smaller(int a, int b) {
    return a < b ? a : b;
}

void mean_forward(const Kernels *k, float *y, const float *x, int B, int T, int past, int C) {
    assert(past == 0 || B == 1);
    int S = past + T;
    size_t work = (size_t)B * (size_t)S * (size_t)C;
#pragma omp parallel for collapse(2) schedule(static) num_threads(kernels_threads(k, work))
    for (int b = 0; b < B; b++)
        for (int c = 0; c < C; c += CHUNK) {
            float total[CHUNK] = {0};
            int width = smaller(CHUNK, C - c);
            for (int s = 0; s < S; s++) {
                k->isa->add(total, x + ((size_t)b * (size_t)S + (size_t)s) * (size_t)C + c,
                            (size_t)width);
                if (s < past) continue;
                float *to = y + ((size_t)b * (size_t)T + (size_t)(s - past)) * (size_t)C + c;
                for (int i = 0; i < width; i++) to[i] = total[i] / (float)(s + 1);
            }
        }
}

void mean_backward(const Kernels *k, float *dx, const float *dy, int B, int T, int C) {
    size_t work = (size_t)B * (size_t)T * (size_t)C;
#pragma omp parallel for collapse(2) schedule(static) num_threads(kernels_threads(k, work))
    for (int b = 0; b < B; b++)
        for (int c = 0; c < C; c += CHUNK) {
            float total[CHUNK] = {0};
            int width = smaller(CHUNK, C - c);
            for (int t = T - 1; t >= 0; t--) {
                size_t at = ((size_t)b * (size_t)T + (size_t)t) * (size_t)C + (size_t)c;
                for (int i = 0; i < width; i++) total[i] += dy[at + (size_t)i] / (float)(t + 1);
                memcpy(dx + at, total, (size_t)width * sizeof *dx);
            }
        }
}
