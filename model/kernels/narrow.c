/* narrow.c - products with weights of half the size: when text is made, one row at a time, the time
 * goes into fetching the weights, not into multiplying them.
 *
 * They are packed in panels of tile_columns columns; each row of a panel holds two terms, as pairs
 * of bfloat16. The lower one is moved up when it is read; the upper one is read as it is, with the
 * lower one for the bits that it lacks: it was rounded in their presence, so that the whole is as
 * near as a bfloat16 would be, and reading is one operation less. */
#include "model/kernels/kernels.h"

#include <string.h>

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* The upper half of a float, rounded to nearest for a lower half that is `below`, 0 for a number
 * that is a bfloat16. What is not finite stays so. */
static uint32_t rounded(float x, uint32_t below) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits >> 23 & 0xFF) == 0xFF) return bits >> 16 | (x != x ? 0x40 : 0);
    if (bits << 1 < below) return bits >> 16; /* next to 0 */
    return (bits - below + 0x8000) >> 16;
}

static size_t row_of(const Isa *isa, int columns) {
    size_t lanes = (size_t)isa->lanes;
    return ((size_t)columns + lanes - 1) / lanes * lanes;
}

static size_t narrow_size(const Isa *isa, int K, int N) {
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

static void narrow_pack(const Kernels *k, float *packed, Matrix b, int K, int N) {
    int width = k->isa->tile_columns;
    Share panels = team_share(k, (size_t)((N + width - 1) / width), 1);
    for (int i = (int)panels.begin; i < (int)panels.end; i++) {
        int j = i * width, columns = smaller(width, N - j);
        Matrix part = {b.at + (size_t)j * b.column, b.row, b.column};
        pack_panel((uint32_t *)packed + (size_t)j * (size_t)((K + 1) / 2), row_of(k->isa, columns),
                   part, K, columns);
    }
}

static void narrow_multiply(const Kernels *k, float *c, size_t c_row, Matrix a, Packed b, int M,
                            int K, const float *bias, Share columns) {
    for (int j = (int)columns.begin; j < (int)columns.end; j += k->isa->tile_columns) {
        const uint32_t *pairs = (const uint32_t *)b.at + (size_t)j * (size_t)((b.K + 1) / 2);
        for (size_t i = 0; i < (size_t)M; i++)
            k->isa->narrow(c + i * c_row + j, a.at + i * a.row, pairs, K,
                           smaller(k->isa->tile_columns, (int)columns.end - j),
                           bias ? bias + j : NULL);
    }
}

const Products narrow_products = {.name = "narrow",
                                  .attention = &float32_products,
                                  .packed_size = narrow_size,
                                  .pack = narrow_pack,
                                  .multiply = narrow_multiply};
