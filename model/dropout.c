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
    if (dropout.rate <= 0 && y == x) return;
    size_t row = (size_t)C;
    Share rows = team_share(k, (size_t)N, 1);
    if (dropout.rate <= 0)
        memcpy(y + rows.begin * row, x + rows.begin * row,
               (rows.end - rows.begin) * row * sizeof *y);
    else
        for (size_t n = rows.begin; n < rows.end; n++)
            k->isa->dropout(y + n * row, x + n * row, dropout_row(dropout, n), C);
    team_barrier(k);
}
