/* bf16_weights.c - products with bfloat16 weights. Generation multiplies one row at a time, so its
 * time goes into reading the weights, not into multiplying. bfloat16 halves what is read.
 *
 * Weights are packed in panels of tile_columns columns. Each row of a panel has two terms, as pairs
 * of bfloat16. A read shifts the lower number up, but takes the upper one as it is, with the lower
 * one as its missing bits: that saves an operation. The upper number is rounded with these bits
 * below it, so the whole is as accurate as a bfloat16. */
#include "model/kernels/kernels.h"
#include "base/array.h"

#include <string.h>

/* The upper half of a float, rounded to nearest, when its lower half will be read as `below` (0: a
 * plain bfloat16). Infinities and NaNs stay. */
static uint32_t rounded(float x, uint32_t below) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits >> 23 & 0xFF) == 0xFF) return bits >> 16 | (x != x ? 0x40 : 0);
    if (bits << 1 < below) return bits >> 16; /* nearly 0 */
    return (bits - below + 0x8000) >> 16;
}

static size_t row_of(const Isa *isa, int columns) {
    size_t lanes = (size_t)isa->lanes;
    return ((size_t)columns + lanes - 1) / lanes * lanes;
}

static size_t size_weights(const Isa *isa, int K, int N) {
    return (size_t)((K + 1) / 2) * row_of(isa, N);
}

static void pack_panel(uint32_t *pairs, size_t row, Matrix b, int K, int columns) {
    for (size_t p = 0; p < (size_t)K; p += 2, pairs += row)
        for (size_t j = 0; j < (size_t)columns; j++) {
            const float *even = b.at + p * b.row + j * b.column;
            uint32_t low = rounded(*even, 0);
            pairs[j] = low;
            if (p + 1 < (size_t)K) pairs[j] |= rounded(even[b.row], low) << 16;
        }
}

static void pack_weights(const Thread *thread, float *packed, Matrix b, int K, int N) {
    int width = thread->isa->tile_columns;
    Share panels = team_share(thread, (size_t)((N + width - 1) / width), 1);
    for (int i = (int)panels.begin; i < (int)panels.end; i++) {
        int j = i * width, columns = min_int(width, N - j);
        Matrix part = {b.at + (size_t)j * b.column, b.row, b.column};
        pack_panel((uint32_t *)packed + (size_t)j * (size_t)((K + 1) / 2),
                   row_of(thread->isa, columns), part, K, columns);
    }
}

static void multiply_weights(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b,
                             int M, int K, const float *bias, Share columns) {
    for (int j = (int)columns.begin; j < (int)columns.end; j += thread->isa->tile_columns) {
        const uint32_t *pairs = (const uint32_t *)b.at + (size_t)j * (size_t)((b.K + 1) / 2);
        for (size_t i = 0; i < (size_t)M; i++)
            thread->isa->bf16_gemv(c + i * c_row + j, a.at + i * a.row, pairs, K,
                                   min_int(thread->isa->tile_columns, (int)columns.end - j),
                                   bias ? bias + j : NULL);
    }
}

const Products bf16_weight_products = {.name = "bf16 weights",
                                       .attention = &float32_products,
                                       .packed_size = size_weights,
                                       .pack = pack_weights,
                                       .multiply = multiply_weights};
