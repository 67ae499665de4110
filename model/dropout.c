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

void dropout_apply(const Kernels *k, float *y, const float *x, Dropout dropout, size_t first, int N,
                   int C) {
    size_t row = (size_t)C;
    if (dropout.rate > 0)
        for (size_t n = 0; n < (size_t)N; n++)
            k->isa->dropout(y + n * row, x + n * row,
                            dropout_row(dropout, dropout.first + first + n), C);
    else if (y != x)
        memcpy(y, x, (size_t)N * row * sizeof *y);
}
