/* norm.c - layer normalisation. */
#include "model/layers.h"

void layernorm_forward(const Kernels *k, float *y, float *mean, float *rstd, const float *x,
                       const float *w, const float *b, int N, int C) {
    size_t row = (size_t)C;
    Share rows = team_share(k, (size_t)N, 1);
    for (size_t n = rows.begin; n < rows.end; n++)
        k->isa->normalize(y + n * row, mean + n, rstd + n, x + n * row, w, b, C);
    team_barrier(k);
}

/* dw and db first, for dx may overwrite dy: there the threads share out the channels, each summed
 * in the order of the rows; then the rows. */
void layernorm_backward(const Kernels *k, float *dx, float *dw, float *db, const float *dy,
                        const float *x, const float *mean, const float *rstd, const float *w, int N,
                        int C) {
    size_t row = (size_t)C;
    Share channels = team_share(k, row, 16);
    size_t c = channels.begin;
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->normalize_gradients(dw + c, db + c, dy + n * row + c, x + n * row + c, mean[n],
                                    rstd[n], (int)(channels.end - c));
    team_barrier(k);
    Share rows = team_share(k, (size_t)N, 1);
    for (size_t n = rows.begin; n < rows.end; n++)
        k->isa->normalize_backward(dx + n * row, dy + n * row, x + n * row, mean[n], rstd[n], w, C);
    team_barrier(k);
}
