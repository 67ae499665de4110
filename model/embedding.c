/* embedding.c - a row of channels for each token, and one for each position. */
#include "model/layers.h"

#include <string.h>

void embedding_forward(const Kernels *k, float *x, const int32_t *ids, Param wte, Param wpe,
                       size_t first, int N, int T, int past, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++) {
        const float *token = wte.w + (size_t)ids[n] * row;
        size_t position = (size_t)past + (first + n) % (size_t)T;
        if (wpe.w)
            k->isa->sum(x + n * row, token, wpe.w + position * row, row);
        else
            memcpy(x + n * row, token, row * sizeof *x);
    }
}

/* Two tokens may share a row of dwte, so threads share out the channels, not the tokens: each adds
 * up its own channels in the order of the tokens. */
void embedding_backward(const Kernels *k, Param wte, Param wpe, const float *dx, const int32_t *ids,
                        int B, int T, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share channels = team_share(k, row, 16);
    size_t first = channels.begin, width = channels.end - first;
    for (size_t n = 0; n < (size_t)B * length; n++) {
        const float *from = dx + n * row + first;
        k->isa->add(wte.dw + (size_t)ids[n] * row + first, from, width);
        if (wpe.dw) k->isa->add(wpe.dw + n % length * row + first, from, width);
    }
}
