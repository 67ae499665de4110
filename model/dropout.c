/* dropout.c - noise that keeps a model from leaning on any one channel. */
#include "model/dropout.h"
#include "base/random.h"

#include <string.h>

DropoutRow dropout_row(Dropout dropout, size_t row) {
    double keep = 1.0 - (double)dropout.rate;
    return (DropoutRow){.key = random_bits(dropout.key, row),
                        .threshold = (uint32_t)(keep * 4294967295.0),
                        .scale = (float)(1.0 / keep)};
}

void dropout_apply(const Kernels *k, float *y, const float *x, Dropout dropout, int N, int C) {
    size_t row = (size_t)C, count = (size_t)N * row;
    if (dropout.rate <= 0) {
        if (y != x) memcpy(y, x, count * sizeof *y);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, count))
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->dropout(y + n * row, x + n * row, dropout_row(dropout, n), C);
}
