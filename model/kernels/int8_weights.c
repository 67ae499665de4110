/* int8_weights.c - products with weights of 8 bits. Generation multiplies one row at a time, so its
 * time goes into reading the weights: these are a quarter of the float32 ones.
 *
 * Each column of the right operand is rounded to whole numbers from -127 to 127 times a scale of
 * its own. The left row is rounded to 16 bits, times a scale for each block of TERMS terms. So a
 * sum of a block is a whole number below 2^31: exact, with the same bits on every machine, in any
 * order.
 *
 * Packed are the scales of all columns, then blocks of TERMS terms, in panels of INT8_PANEL
 * columns. A panel has pairs of terms: of each column the numbers of both, one after the other. */
#include "model/kernels/kernels.h"
#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { TERMS = 512, LARGEST = 127, LARGEST_LEFT = INT16_MAX };
_Static_assert((int64_t)TERMS *LARGEST *LARGEST_LEFT <= INT32_MAX, "a sum is exact");

/* The columns of whole panels. */
static size_t padded(int N) {
    return ((size_t)N + INT8_PANEL - 1) / INT8_PANEL * INT8_PANEL;
}

static size_t even(int K) {
    return ((size_t)K + 1) / 2 * 2;
}

static size_t size_weights(const Isa *isa, int K, int N) {
    (void)isa;
    return padded(N) + even(K) * padded(N) / sizeof(float);
}

/* The numbers of the panel from column j on, in the block of terms from p on. */
static int8_t *panel_at(const float *packed, int K, int N, int p, int j) {
    int8_t *first = (int8_t *)(packed + padded(N));
    return first + (size_t)p * padded(N) + even(min_int(TERMS, K - p)) * (size_t)j;
}

static float largest_of(Matrix b, int K, int j) {
    float largest = 0;
    for (int p = 0; p < K; p++) {
        float size = fabsf(b.at[(size_t)p * b.row + (size_t)j * b.column]);
        if (size > largest || size != size) largest = size; /* a NaN stays */
    }
    return largest;
}

/* Packs column j of a panel. */
static void pack_column(int8_t *panel, Matrix b, int terms, int j, float scale) {
    for (int p = 0; p < terms; p++) {
        float x = b.at[(size_t)p * b.row + (size_t)j * b.column] / scale;
        panel[p / 2 * 2 * INT8_PANEL + 2 * j + p % 2] = (int8_t)(x == x ? lrintf(x) : 0);
    }
}

static void pack_panel(float *packed, Matrix b, int K, int N, int first) {
    const float tiny = 0x1p-100f;
    int columns = min_int(INT8_PANEL, N - first);
    Matrix own = {b.at + (size_t)first * b.column, b.row, b.column};
    memset(packed + first, 0, INT8_PANEL * sizeof *packed);
    for (int j = 0; j < columns; j++) {
        float largest = largest_of(own, K, j);
        packed[first + j] = largest < tiny ? 0 : largest / LARGEST;
    }
    for (int p = 0; p < K; p += TERMS) {
        int terms = min_int(TERMS, K - p);
        int8_t *panel = panel_at(packed, K, N, p, first);
        memset(panel, 0, even(terms) * INT8_PANEL);
        for (int j = 0; j < columns; j++)
            if (packed[first + j] > 0)
                pack_column(panel, (Matrix){own.at + (size_t)p * b.row, b.row, b.column}, terms, j,
                            packed[first + j]);
    }
}

static void pack_weights(const Thread *thread, float *packed, Matrix b, int K, int N) {
    Share own = team_share(thread, padded(N), INT8_PANEL);
    for (size_t j = own.begin; j < own.end; j += INT8_PANEL) pack_panel(packed, b, K, N, (int)j);
}

static void multiply_row(const Isa *isa, float *y, const float *x, Packed b, int K,
                         const float *bias, Share columns) {
    int16_t left[TERMS];
    size_t j = columns.begin, end = columns.end < (size_t)b.N ? columns.end : (size_t)b.N;
    for (int p = 0; p < K && j < end; p += TERMS) {
        int terms = min_int(TERMS, K - p);
        float scale = isa->round_to_16(left, x + p, LARGEST_LEFT, terms);
        const float *start = p == 0 ? bias : y;
        isa->int8_gemv(y + j, left, scale, panel_at(b.at, b.K, b.N, p, (int)j), b.at + j, terms,
                       (int)(end - j), start ? start + j : NULL);
    }
}

static void multiply_weights(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b,
                             int M, int K, const float *bias, Share columns) {
    assert(a.column == 1 && K == b.K);
    for (size_t i = 0; i < (size_t)M; i++)
        multiply_row(thread->isa, c + i * c_row, a.at + i * a.row, b, K, bias, columns);
}

const Products int8_weight_products = {.name = "int8 weights",
                                       .attention = &float32_products,
                                       .packed_size = size_weights,
                                       .pack = pack_weights,
                                       .multiply = multiply_weights};
