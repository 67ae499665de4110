/* embedding.c - a row of channels for each token, and one for each position. */
#include "model/layers.h"

#include <string.h>

void embedding_forward(const Kernels *k, float *x, const int32_t *ids, const float *wte,
                       const float *wpe, int B, int T, int past, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share tokens = team_share(k, (size_t)B * length, 1);
    for (size_t n = tokens.begin; n < tokens.end; n++) {
        const float *token = wte + (size_t)ids[n] * row;
        if (wpe)
            k->isa->sum(x + n * row, token, wpe + ((size_t)past + n % length) * row, row);
        else
            memcpy(x + n * row, token, row * sizeof *x);
    }
    team_barrier(k);
}

/* Two tokens may share a row of dwte, so threads share out the channels, not the tokens: each adds
 * up its own channels in the order of the tokens. */
void embedding_backward(const Kernels *k, float *dwte, float *dwpe, const float *dx,
                        const int32_t *ids, int B, int T, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share channels = team_share(k, row, 16);
    size_t first = channels.begin, width = channels.end - first;
    for (size_t n = 0; n < (size_t)B * length; n++) {
        const float *from = dx + n * row + first;
        k->isa->add(dwte + (size_t)ids[n] * row + first, from, width);
        if (dwpe) k->isa->add(dwpe + n % length * row + first, from, width);
    }
    team_barrier(k);
}
