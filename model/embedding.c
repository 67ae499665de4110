/* embedding.c - a row of channels for each token, and one for each position. */
#include "model/layers.h"

#include <string.h>

void embedding_forward(const Kernels *k, float *x, const int32_t *ids, const float *wte,
                       const float *wpe, int B, int T, int past, int C) {
    size_t row = (size_t)C;
    int N = B * T;
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *row))
    for (int n = 0; n < N; n++) {
        float *to = x + (size_t)n * row;
        const float *token = wte + (size_t)ids[n] * row;
        if (wpe)
            k->isa->sum(to, token, wpe + (size_t)(past + n % T) * row, row);
        else
            memcpy(to, token, row * sizeof *to);
    }
}

/* Two tokens may share a row of dwte, so threads share out the channels, not the tokens: each adds
 * up its own channels in the order of the tokens. */
void embedding_backward(const Kernels *k, float *dwte, float *dwpe, const float *dx,
                        const int32_t *ids, int B, int T, int C) {
    enum { CHUNK = 32 };
    int N = B * T;
    size_t row = (size_t)C;
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *row))
    for (int c = 0; c < C; c += CHUNK) {
        size_t width = (size_t)(C - c < CHUNK ? C - c : CHUNK);
        for (int n = 0; n < N; n++) {
            const float *from = dx + (size_t)n * row + c;
            k->isa->add(dwte + (size_t)ids[n] * row + c, from, width);
            if (dwpe) k->isa->add(dwpe + (size_t)(n % T) * row + c, from, width);
        }
    }
}
