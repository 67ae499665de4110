/* int8.c - products with weights of 8 bits. Generation multiplies few rows at a time, so its time
 * goes into reading the weights, not into multiplying: these are a quarter of the float32 ones.
 *
 * Each column of the right operand is rounded to whole numbers from -127 to 127 times a scale of
 * its own. The left row is rounded to 16 bits, times a scale for each block of TERMS terms. So a
 * sum of a block is a whole number below 2^31: exact, with the same bits on every machine, in any
 * order.
 *
 * The packed operand has the scales of all columns, then blocks of TERMS terms, in panels. */
#include "model/kernels/products.h"
#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { TERMS = 512, LARGEST = 127, LARGEST_LEFT = INT16_MAX };
_Static_assert((int64_t)TERMS *LARGEST *LARGEST_LEFT <= INT32_MAX, "a sum is exact");

/* Returns the columns of whole panels. */
static size_t padded(int N) {
    return ceil_div((size_t)N, INT8_PANEL) * INT8_PANEL;
}

/* Returns the bytes before the panel of column j, in the block of terms from p on. */
static size_t place_of(int K, int N, int p, size_t j) {
    size_t above = (size_t)(p / TERMS) * padded(N) / INT8_PANEL * int8_panel_size(TERMS);
    return above + j / INT8_PANEL * int8_panel_size(min_int(TERMS, K - p));
}

static size_t packed_size(const Isa *isa, int K, int N) {
    (void)isa;
    return padded(N) + place_of(K, N, (K - 1) / TERMS * TERMS, padded(N)) / sizeof(float);
}

static int8_t *panel_at(const float *packed, int K, int N, int p, int j) {
    return (int8_t *)(packed + padded(N)) + place_of(K, N, p, (size_t)j);
}

/* Rounds x / scale to whole numbers, halves to even. A float plus `shift` has the whole number in
 * its low bits. */
static void round_to_8(int8_t *y, const float *x, float scale, int count) {
    const float shift = 0x1.8p23f;
#pragma omp simd
    for (int i = 0; i < count; i++) {
        float shifted = x[i] / scale + shift;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        y[i] = (int8_t)bits;
    }
}

/* Returns `count` numbers of column j from term p on: in place, or copied if others lie between. */
static const float *terms_at(float *copy, Matrix b, int p, int j, int count) {
    const float *from = matrix_at(b, p, j).at;
    if (b.row_stride == 1) return from;
    for (int i = 0; i < count; i++) copy[i] = from[(size_t)i * b.row_stride];
    return copy;
}

/* Returns the scale of column j, 0 if all its numbers are almost 0. */
static float scale_of(Matrix b, int K, int j) {
    const float tiny = 0x1p-100f;
    float largest, copy[TERMS];
    int32_t most = 0; /* the largest magnitude's bits; a NaN's are greater than all others */
    for (int first = 0; first < K; first += TERMS) {
        const int terms = min_int(TERMS, K - first);
        const float *x = terms_at(copy, b, first, j, terms);
#pragma omp simd reduction(max : most)
        for (int p = 0; p < terms; p++) {
            int32_t bits;
            memcpy(&bits, x + p, sizeof bits);
            bits &= INT32_MAX;
            most = bits > most ? bits : most;
        }
    }
    memcpy(&largest, &most, sizeof largest);
    return largest < tiny ? 0 : largest / LARGEST;
}

/* Packs the terms of b from p to `end` in columns `first` to `last` of a panel, which is 0 before,
 * a few terms of all columns at a time: those places stay in the L1 cache. */
static void pack_panel(bool vnni, int8_t *panel, const float *scales, Matrix b, int p, int end,
                       int first, int last) {
    enum { FEW = 64 };
    float copy[FEW];
    int8_t whole[FEW + 3], *to = panel + 4 * INT8_PANEL;
    for (; p < end; p += FEW, to += FEW * INT8_PANEL)
        for (int j = first; j < last; j++) {
            const int terms = min_int(FEW, end - p), column = j - first;
            int32_t sum, added = 0;
            if (scales[j] == 0 || !isfinite(scales[j])) continue; /* every number is rounded to 0 */
            round_to_8(whole, terms_at(copy, b, p, j, terms), scales[j], terms);
            memset(whole + terms, 0, 3);
            memcpy(&sum, panel + 4 * column, sizeof sum);
            for (int i = 0; i < terms; i++) added += whole[i];
            sum -= 128 * added;
            memcpy(panel + 4 * column, &sum, sizeof sum);
            for (int i = 0; vnni && i < terms; i += 4)
                memcpy(to + i * INT8_PANEL + 4 * column, whole + i, 4);
            for (int i = 0; !vnni && i < terms; i += 2)
                memcpy(to + i * INT8_PANEL + 2 * column, whole + i, 2);
        }
}

static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    Share own = team_share(thread, padded(N), INT8_PANEL);
    for (int first = (int)own.begin; first < (int)own.end; first += INT8_PANEL) {
        const int last = min_int(first + INT8_PANEL, N);
        memset(packed + first, 0, INT8_PANEL * sizeof *packed);
        for (int j = first; j < last; j++) packed[j] = scale_of(b, K, j);
        for (int p = 0; p < K; p += TERMS) {
            const int end = min_int(p + TERMS, K);
            int8_t *panel = panel_at(packed, K, N, p, first);
            memset(panel, 0, int8_panel_size(end - p));
            pack_panel(thread->isa->vnni, panel, packed, b, p, end, first, last);
        }
    }
}

static void multiply(const Thread *thread, float *c, size_t c_row, const float *a, size_t a_row,
                     Packed b, int M, int K, const float *bias, int columns) {
    enum { ROWS = 6 }; /* at least tile_rows of every table */
    const Isa *isa = thread->isa;
    int16_t left[ROWS * TERMS];
    float scales[ROWS];
    assert(K == b.K && isa->tile_rows <= ROWS);
    columns = min_int(columns, b.N);
    for (int i = 0, rows; i < M; i += rows) {
        float *y = c + (size_t)i * c_row;
        rows = some_rows(isa->tile_rows, M - i);
        for (int p = 0; p < K; p += TERMS) {
            int terms = min_int(TERMS, K - p);
            for (int r = 0; r < rows; r++)
                scales[r] = isa->round_to_16(isa->vnni, left + r * TERMS,
                                             a + (size_t)(i + r) * a_row + p, LARGEST_LEFT, terms);
            isa->int8_rows(isa->vnni, y, c_row, left, TERMS, scales, rows,
                           panel_at(b.at, K, b.N, p, 0), b.at, terms, columns, p > 0 ? y : bias,
                           p > 0 ? c_row : 0);
        }
    }
}

const Products int8_weight_products = {.name = "int8 weights",
                                       .attention = &float32_products,
                                       .packed_size = packed_size,
                                       .pack = pack,
                                       .multiply = multiply};
