/* isa.c - the loops that use vector registers, compiled once for each instruction set.
 *
 * The Makefile compiles this file with ISA=base (SSE2 or NEON), avx2 and avx512, each with the
 * compiler flags of that set; for the tests also with ISA=portable, sixteen lanes in plain C. The
 * register tile, the sums and the loops with exponentials are written in vector types. The other
 * loops are plain C that the compiler vectorises.
 *
 * Every set with a fused multiply-add gives the same bits. So the compiler never decides what is
 * fused (-ffp-contract=off): the functions `fused` and `multiply_add` do. And the sum of a row is
 * the sum of 16 lanes at any register width: element i is added to lane i % 16, then the lanes are
 * added in pairs. SSE2 has no fused multiply-add; its bits differ. */
#include "model/kernels/kernels.h"
#include "base/elementary.h"
#include "model/kernels/matmul.h"

#include <math.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#define PASTE(a, b)     a##b
#define TABLE_NAME(isa) PASTE(isa_, isa)
#define STRING(text)    #text
#define NAME_OF(isa)    STRING(isa)

/* ---- vectors ---- */

/* The most accumulators that leave registers for a row of b and a broadcast of a: 24 of 32
 * registers; of 16 registers 12 or, without fused multiply-add, 8. */
#if defined __AVX512F__ || defined PORTABLE
enum { LANES = 16, ZIP_LANES = 16, TILE_ROWS = 6, TILE_VECTORS = 4 };
#define ZIP_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif defined __AVX2__
enum { LANES = 8, ZIP_LANES = 4, TILE_ROWS = 6, TILE_VECTORS = 2 };
#define ZIP_LOW  0, 8, 1, 9, 4, 12, 5, 13
#define ZIP_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#else
enum { LANES = 4, ZIP_LANES = 4 };
#define ZIP_LOW  0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#if defined __aarch64__
enum { TILE_ROWS = 6, TILE_VECTORS = 4 };
#elif defined __wasm__ /* the registers are the browser's to give; found by trial */
enum { TILE_ROWS = 2, TILE_VECTORS = 4 };
#else
enum { TILE_ROWS = 4, TILE_VECTORS = 2 };
#endif
#endif
enum {
    TILE_COLUMNS = TILE_VECTORS * LANES,
    PANEL = 8192, /* floats of a panel that fit the L1 cache with a strip of the left operand */
    BLOCK_TERMS = PANEL / TILE_COLUMNS < MATMUL_TERMS ? PANEL / TILE_COLUMNS : MATMUL_TERMS,
    LINE = 16, /* floats in a cache line */
    WIDE = 16, /* lanes of a sum */
    PARTS = WIDE / LANES,
    CHAINS = 4 /* sums at a time, to hide the latency of a multiply-add */
};

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
/* The same in memory, unaligned. */
typedef float Unaligned __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static inline Vector load(const float *x) {
    return *(const Unaligned *)x;
}

static inline void store(float *x, Vector of) {
    *(Unaligned *)x = of;
}

/* a b + c, rounded once where the set has an instruction for that. */
static inline float fused(float a, float b, float c) {
#if defined __FMA__ || defined __aarch64__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined PORTABLE
    for (int i = 0; i < LANES; i++) c[i] = fused(a[i], b[i], c[i]);
    return c;
#elif defined __AVX512F__
    return _mm512_fmadd_ps(a, b, c);
#elif defined __FMA__
    return _mm256_fmadd_ps(a, b, c);
#elif defined __aarch64__
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}

/* x in every lane: x - 0 is x, also if x is -0. */
static inline Vector all(float x) {
    return x - (Vector){0};
}

typedef uint32_t Bits __attribute__((vector_size(LANES * sizeof(float))));

/* a < b ? a : b; b if one of them is NaN. */
static inline Vector smaller(Vector a, Vector b) {
#if defined __AVX512F__ && !defined PORTABLE
    return _mm512_min_ps(a, b);
#elif defined __AVX2__ && !defined PORTABLE
    return _mm256_min_ps(a, b);
#else
    Bits less = (Bits)(a < b);
    return (Vector)(((Bits)a & less) | ((Bits)b & ~less));
#endif
}

/* a > b ? a : b, likewise. */
static inline Vector larger(Vector a, Vector b) {
#if defined __AVX512F__ && !defined PORTABLE
    return _mm512_max_ps(a, b);
#elif defined __AVX2__ && !defined PORTABLE
    return _mm256_max_ps(a, b);
#else
    Bits more = (Bits)(a > b);
    return (Vector)(((Bits)a & more) | ((Bits)b & ~more));
#endif
}

/* a < b ? 0 : x */
static inline Vector zero_below(Vector a, Vector b, Vector x) {
#if defined __AVX512F__ && !defined PORTABLE
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_US), x);
#else
    return (Vector)((Bits)x & ~(Bits)(a < b));
#endif
}

typedef int32_t Integers __attribute__((vector_size(LANES * sizeof(int32_t))));

/* All bits of the lanes below n. */
static inline Integers lanes_below(int n) {
    static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Integers number;
    memcpy(&number, numbers, sizeof number);
    return number < n;
}

/* The first of n > 0 numbers; beyond the last, `beyond`. No function is called, so that constants
 * stay in registers. */
static inline Vector load_some(const float *x, size_t n, float beyond) {
    if (n >= LANES) return load(x);
#if defined __AVX512F__ && !defined PORTABLE
    return _mm512_mask_loadu_ps(all(beyond), (__mmask16)((1u << n) - 1), x);
#elif defined __AVX2__ && !defined PORTABLE
    Integers some = lanes_below((int)n);
    Vector of = _mm256_maskload_ps(x, (__m256i)some);
    return _mm256_blendv_ps(all(beyond), of, (Vector)some);
#else
    float padded[LANES];
    store(padded, all(beyond));
    memcpy(padded, x, n * sizeof *x);
    return load(padded);
#endif
}

/* The reverse. */
static inline void store_some(float *x, size_t n, Vector of) {
    if (n >= LANES) {
        store(x, of);
        return;
    }
#if defined __AVX512F__ && !defined PORTABLE
    _mm512_mask_storeu_ps(x, (__mmask16)((1u << n) - 1), of);
#elif defined __AVX2__ && !defined PORTABLE
    _mm256_maskstore_ps(x, (__m256i)lanes_below((int)n), of);
#else
    float padded[LANES];
    store(padded, of);
    memcpy(x, padded, n * sizeof *x);
#endif
}

/* ---- the register tile ---- */

/* `rows` and `vectors` are constants when this is inlined, so the accumulators are in registers.
 * They start from `start`, so a long sum is one chain however it is cut into blocks. The rows of c
 * that the next tile needs are prefetched. */
static inline __attribute__((always_inline)) void
tile_of(const int rows, const int vectors, float *c, size_t c_row, const float *a, size_t a_row,
        size_t a_column, const float *b, size_t b_row, int K, int columns, const float *start,
        size_t start_row, const float *ahead) {
    static const float zeros[TILE_COLUMNS] = {0};
    Vector sum[TILE_ROWS][TILE_VECTORS];
    float edge[TILE_COLUMNS];
    bool whole = columns == vectors * LANES;
    if (!whole) memset(edge, 0, sizeof edge);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        const float *from = start ? start + (size_t)i * start_row : zeros;
        if (!whole) from = memcpy(edge, from, (size_t)columns * sizeof *edge);
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) {
            sum[i][j] = load(from + j * LANES);
            __builtin_prefetch(c + (size_t)(rows + i) * c_row + j * LANES, 1);
        }
    }
    for (int p = 0; p < K; p++) {
        Vector row[TILE_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) row[j] = load(b + j * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            Vector value = all(a[(size_t)i * a_row]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) sum[i][j] = multiply_add(value, row[j], sum[i][j]);
        }
        if (ahead) __builtin_prefetch(ahead + p * 16, 0, 2);
        a += a_column;
        b += b_row;
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        float *to = whole ? c + (size_t)i * c_row : edge;
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) store(to + j * LANES, sum[i][j]);
        if (!whole) memcpy(c + (size_t)i * c_row, edge, (size_t)columns * sizeof *c);
    }
}

static void tile(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                 const float *b, size_t b_row, int K, int rows, int columns, const float *start,
                 size_t start_row, const float *ahead) {
    int vectors = (columns + LANES - 1) / LANES;
    /* clang-format off */
#define TILE(m, n) case (m) * 8 + (n): \
        tile_of(m, n, c, c_row, a, a_row, a_column, b, b_row, K, columns, start, start_row, ahead); break;
    switch (rows * 8 + vectors) {
        TILE(1, 1) TILE(1, 2) TILE(2, 1) TILE(2, 2)
#if !defined __wasm__
        TILE(3, 1) TILE(3, 2) TILE(4, 1) TILE(4, 2)
#endif
#if defined __AVX2__ || defined __aarch64__
        TILE(5, 1) TILE(5, 2) TILE(6, 1) TILE(6, 2)
#endif
#if defined __AVX512F__ || defined __aarch64__ || defined PORTABLE || defined __wasm__
        TILE(1, 3) TILE(1, 4) TILE(2, 3) TILE(2, 4)
#endif
#if defined __AVX512F__ || defined __aarch64__ || defined PORTABLE
        TILE(3, 3) TILE(3, 4) TILE(4, 3) TILE(4, 4) TILE(5, 3) TILE(5, 4) TILE(6, 3) TILE(6, 4)
#endif
    }
    /* clang-format on */
#undef TILE
}

/* One term of a whole tile. Its rows of a are reached from two pointers, so that the addresses need
 * few registers. */
static inline __attribute__((always_inline)) void add_term(Vector sum[TILE_ROWS][TILE_VECTORS],
                                                           const float *upper, const float *lower,
                                                           size_t a_row, const float *b) {
    enum { HALF = TILE_ROWS / 2 };
    Vector row[TILE_VECTORS];
#pragma GCC unroll 4
    for (int j = 0; j < TILE_VECTORS; j++) row[j] = load(b + j * LANES);
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++) {
        Vector value = all((i < HALF ? upper : lower)[(size_t)(i % HALF) * a_row]);
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) sum[i][j] = multiply_add(value, row[j], sum[i][j]);
    }
}

static inline __attribute__((always_inline)) void
whole_tile(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column, const float *b,
           int K, const float *start, size_t start_row, const float *ahead, const bool fetches) {
    Vector sum[TILE_ROWS][TILE_VECTORS];
    const float *lower = a + TILE_ROWS / 2 * a_row;
    int pairs = K / 2;
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) {
            sum[i][j] = start ? load(start + (size_t)i * start_row + j * LANES) : (Vector){0};
            if (j * LANES % LINE == 0)
                __builtin_prefetch(c + (size_t)(TILE_ROWS + i) * c_row + j * LANES, 1);
        }
    for (int p = 0; p < pairs; p++) {
        add_term(sum, a, lower, a_row, b);
        add_term(sum, a + a_column, lower + a_column, a_row, b + TILE_COLUMNS);
        if (fetches) __builtin_prefetch(ahead + p * LINE, 0, 2);
        a += 2 * a_column;
        lower += 2 * a_column;
        b += 2 * TILE_COLUMNS;
    }
    if (K % 2) add_term(sum, a, lower, a_row, b);
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) store(c + (size_t)i * c_row + j * LANES, sum[i][j]);
}

static inline __attribute__((always_inline)) void tiles_of(float *c, size_t c_row, const float *a,
                                                           size_t a_row, size_t a_column,
                                                           const float *b, int K, int count,
                                                           const float *start, size_t start_row,
                                                           const float *ahead, const float *end) {
    for (int i = 0; i < count; i++) {
        if (ahead < end)
            whole_tile(c, c_row, a, a_row, a_column, b, K, start, start_row, ahead, true);
        else
            whole_tile(c, c_row, a, a_row, a_column, b, K, start, start_row, NULL, false);
        if (ahead < end) ahead += K / 2 * LINE;
        c += TILE_ROWS * c_row;
        a += TILE_ROWS * a_row;
        if (start) start += TILE_ROWS * start_row;
    }
}

/* With constants for the strides of a matrix in place and of a packed strip. */
static void tiles(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                  const float *b, int K, int count, const float *start, size_t start_row,
                  const float *ahead, const float *end) {
    if (a_column == 1)
        tiles_of(c, c_row, a, a_row, 1, b, K, count, start, start_row, ahead, end);
    else if (a_row == 1 && a_column == MATMUL_STRIP)
        tiles_of(c, c_row, a, 1, MATMUL_STRIP, b, K, count, start, start_row, ahead, end);
    else
        tiles_of(c, c_row, a, a_row, a_column, b, K, count, start, start_row, ahead, end);
}

/* ---- transposing a matrix ---- */

/* Transposes a square of LANES x LANES, or the squares of ZIP_LANES in each half of it: zips row i
 * with row i + ZIP_LANES/2, log2(ZIP_LANES) times. Each round is a perfect shuffle, which rotates
 * the bits of an element's index (row, column) by one; together they exchange row and column.
 * With AVX2, zips across the halves of a vector take three instructions. So its halves are
 * exchanged first: those that belong to other rows. */
static inline void transpose_square(float *to, size_t to_row, const float *from, size_t from_row) {
    enum { HALF = ZIP_LANES / 2 };
    Vector row[LANES], zipped[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) row[i] = load(from + (size_t)i * from_row);
#if defined __AVX2__ && !defined __AVX512F__ && !defined PORTABLE
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        Vector first = row[i], second = row[i + 4];
        row[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 8, 9, 10, 11);
        row[i + 4] = __builtin_shufflevector(first, second, 4, 5, 6, 7, 12, 13, 14, 15);
    }
#endif
#pragma GCC unroll 4
    for (int round = 1; round < ZIP_LANES; round *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            Vector first = row[i / HALF * ZIP_LANES + i % HALF];
            Vector second = row[i / HALF * ZIP_LANES + i % HALF + HALF];
            zipped[2 * i] = __builtin_shufflevector(first, second, ZIP_LOW);
            zipped[2 * i + 1] = __builtin_shufflevector(first, second, ZIP_HIGH);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) row[i] = zipped[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) store(to + (size_t)i * to_row, row[i]);
}

static void transpose(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                      int columns) {
    int whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (int i = 0; i < whole_rows; i += LANES)
        for (int j = 0; j < whole_columns; j += LANES) {
            /* the rows below, which the hardware does not predict */
#pragma GCC unroll 16
            for (size_t k = 0; k < LANES; k++)
                __builtin_prefetch(from + ((size_t)i + LANES + k) * from_row + (size_t)j);
            transpose_square(to + (size_t)j * to_row + (size_t)i, to_row,
                             from + (size_t)i * from_row + (size_t)j, from_row);
        }
    for (int i = 0; i < rows; i++)
        for (int j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[(size_t)j * to_row + (size_t)i] = from[(size_t)i * from_row + (size_t)j];
}

/* The distance of prefetches, in rows: the hardware does not predict the jump to the next row. */
enum { ROWS_AHEAD = 12 };

static inline __attribute__((always_inline)) void copy_lines(float *to, const float *from,
                                                             int whole, size_t ahead) {
    for (int j = 0; j < whole; j += LINE) {
        __builtin_prefetch(from + ahead + j);
#pragma GCC unroll 4
        for (int i = j; i < j + LINE; i += LANES) store(to + i, load(from + i));
    }
}

static void copy(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                 int columns) {
    int whole = columns / LINE * LINE;
    size_t ahead = ROWS_AHEAD * from_row;
    if (columns == TILE_COLUMNS && TILE_COLUMNS % LINE == 0) { /* a panel: too narrow for a loop */
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++, to += to_row, from += from_row)
            copy_lines(to, from, TILE_COLUMNS, ahead);
        return;
    }
    for (int i = 0; i < rows; i++, to += to_row, from += from_row) {
        int j = whole;
        copy_lines(to, from, whole, ahead);
        for (; j + LANES <= columns; j += LANES) store(to + j, load(from + j));
        for (; j < columns; j++) to[j] = from[j];
    }
}

/* `vectors` is a constant when this is inlined, so the sums are in registers. */
static inline __attribute__((always_inline)) void copy_and_sum_of(const int vectors, float *to,
                                                                  size_t to_row, const float *from,
                                                                  size_t from_row, int rows,
                                                                  float *sums) {
    Vector sum[MATMUL_STRIP / LANES];
    size_t ahead = ROWS_AHEAD * from_row;
#pragma GCC unroll 24
    for (int j = 0; j < vectors; j++) sum[j] = load(sums + j * LANES);
    for (int i = 0; i < rows; i++, to += to_row, from += from_row)
#pragma GCC unroll 24
        for (int j = 0; j < vectors; j++) {
            if (j * LANES % LINE == 0) __builtin_prefetch(from + ahead + j * LANES);
            Vector of = load(from + j * LANES);
            store(to + j * LANES, of);
            sum[j] += of;
        }
#pragma GCC unroll 24
    for (int j = 0; j < vectors; j++) store(sums + j * LANES, sum[j]);
}

/* A strip is whole, or the last of a side, and sides are mostly multiples of 32. */
static void copy_and_sum(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                         int columns, float *sums) {
    switch (columns) {
        case MATMUL_STRIP:
            copy_and_sum_of(MATMUL_STRIP / LANES, to, to_row, from, from_row, rows, sums);
            return;
        case 4 * LINE:
            copy_and_sum_of(4 * LINE / LANES, to, to_row, from, from_row, rows, sums);
            return;
        case 2 * LINE:
            copy_and_sum_of(2 * LINE / LANES, to, to_row, from, from_row, rows, sums);
            return;
        default: break;
    }
    copy(to, to_row, from, from_row, rows, columns);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) sums[j] += to[(size_t)i * to_row + (size_t)j];
}

/* `rows` rows, from one panel of the result to the next. */
static inline __attribute__((always_inline)) void copy_rows(const int rows, float *to, size_t panel,
                                                            const float *from, size_t from_row,
                                                            int columns) {
    enum { AHEAD = 4 };
    for (int j = 0; j < columns; j += TILE_COLUMNS, to += panel, from += TILE_COLUMNS)
#pragma GCC unroll 8
        for (size_t i = 0; i < (size_t)rows; i++)
#pragma GCC unroll 4
            for (size_t k = 0; k < TILE_COLUMNS; k += LANES) {
                if (k % LINE == 0) __builtin_prefetch(from + (AHEAD + i) * from_row + k);
                store(to + i * TILE_COLUMNS + k, load(from + i * from_row + k));
            }
}

/* The same row of all panels often lies in one set of the L1 cache, which holds 8 or 12 lines. So
 * several rows are copied together; otherwise the lines would leave the cache before the next rows
 * are written. Each row is read from its begin to its end: the hardware prefetches that. */
static void copy_panels(float *to, const float *from, size_t from_row, int rows, int columns) {
    enum { SOME = 8 };
    size_t panel = (size_t)rows * TILE_COLUMNS;
    int i = 0;
    for (; i + SOME <= rows; i += SOME, from += SOME * from_row, to += SOME * TILE_COLUMNS)
        copy_rows(SOME, to, panel, from, from_row, columns);
    for (; i < rows; i++, from += from_row, to += TILE_COLUMNS)
        copy_rows(1, to, panel, from, from_row, columns);
}

/* The fence lets other threads see what they synchronise with after it. */
static void copy_past_cache(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                            int columns) {
#if defined __AVX512F__
#define STORE_PAST_CACHE _mm512_stream_ps
#elif defined __AVX2__ && !defined PORTABLE
#define STORE_PAST_CACHE _mm256_stream_ps
#endif
#if defined STORE_PAST_CACHE
    if ((uintptr_t)to % sizeof(Vector) == 0 && to_row % LANES == 0 && columns % LANES == 0) {
        for (int i = 0; i < rows; i++, to += to_row, from += from_row)
            for (int j = 0; j < columns; j += LANES) STORE_PAST_CACHE(to + j, load(from + j));
        _mm_sfence();
        return;
    }
#endif
    copy(to, to_row, from, from_row, rows, columns);
}

/* ---- sums of rows ---- */

/* The 16 lanes of a sum. */
typedef struct {
    Vector part[PARTS];
} Lanes;

/* The next 16 of n > 0 numbers, with zeros beyond the last. */
static inline Lanes next_lanes(const float *x, size_t n) {
    Lanes lanes = {0};
#pragma GCC unroll 4
    for (size_t i = 0; i < PARTS; i++)
        if (n >= WIDE)
            lanes.part[i] = load(x + i * LANES);
        else if (i * LANES < n)
            lanes.part[i] = load_some(x + i * LANES, n - i * LANES, 0);
    return lanes;
}

/* The reverse. */
static inline void store_lanes(float *x, size_t n, Lanes lanes) {
    float padded[WIDE], *to = n < WIDE ? padded : x;
#pragma GCC unroll 4
    for (int i = 0; i < PARTS; i++) store(to + i * LANES, lanes.part[i]);
    if (n < WIDE) memcpy(x, padded, n * sizeof *x);
}

/* The lanes' sum: each half is added to the other, until one lane is left. */
static inline Vector sum_parts(Lanes lanes) {
#pragma GCC unroll 4
    for (int half = PARTS / 2; half > 0; half /= 2)
#pragma GCC unroll 4
        for (int i = 0; i < half; i++) lanes.part[i] += lanes.part[i + half];
    return lanes.part[0];
}

static inline float sum_lanes(Lanes lanes) {
    Vector sum = sum_parts(lanes);
    float lane[LANES];
    memcpy(lane, &sum, sizeof lane);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

static inline void add_lanes(Lanes *sum, const float *x, int n) {
    for (int i = 0; i < n; i += WIDE) {
        Lanes of_x = next_lanes(x + i, (size_t)(n - i));
#pragma GCC unroll 4
        for (int j = 0; j < PARTS; j++) sum->part[j] += of_x.part[j];
    }
}

static float total_of(const float *x, int n) {
    Lanes sum = {0};
    add_lanes(&sum, x, n);
    return sum_lanes(sum);
}

static float dot(const float *a, const float *b, size_t n) {
    Lanes sum = {0};
    for (size_t i = 0; i < n; i += WIDE) {
        Lanes of_a = next_lanes(a + i, n - i), of_b = next_lanes(b + i, n - i);
#pragma GCC unroll 4
        for (int j = 0; j < PARTS; j++)
            sum.part[j] = multiply_add(of_a.part[j], of_b.part[j], sum.part[j]);
    }
    return sum_lanes(sum);
}

/* ---- one query of attention ----
 * Each result is one chain of multiply-adds, as in the tile: so a token alone has the bits that it
 * has among others. A multiply-add waits for the one before; SUMS chains fill that time. */

enum { GROUP_VECTORS = KEY_GROUP / LANES, SUMS = 8 };

static inline __attribute__((always_inline)) void
scores_of(const int groups, float *y, const float *q, const float *keys, size_t stride, int K) {
    Vector sum[SUMS / GROUP_VECTORS][GROUP_VECTORS] = {0};
    for (size_t c = 0; c < (size_t)K; c++) {
        Vector of_q = all(q[c]);
#pragma GCC unroll 8
        for (size_t i = 0; i < (size_t)groups; i++)
#pragma GCC unroll 4
            for (int j = 0; j < GROUP_VECTORS; j++)
                sum[i][j] = multiply_add(of_q, load(keys + i * stride + c * KEY_GROUP + j * LANES),
                                         sum[i][j]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < groups; i++)
#pragma GCC unroll 4
        for (int j = 0; j < GROUP_VECTORS; j++) store(y + i * KEY_GROUP + j * LANES, sum[i][j]);
}

/* The same with the number of groups as a constant; returns how many. */
static int scores_some(int groups, float *y, const float *q, const float *keys, size_t stride,
                       int K) {
    enum { MOST = SUMS / GROUP_VECTORS, HALF = MOST / 2 };
    if (groups >= MOST) {
        scores_of(MOST, y, q, keys, stride, K);
        return MOST;
    }
    if (groups >= HALF) {
        scores_of(HALF, y, q, keys, stride, K);
        return HALF;
    }
    scores_of(1, y, q, keys, stride, K);
    return 1;
}

static void scores(float *y, const float *q, const float *keys, size_t stride, int groups, int K) {
    for (int done = 0; done < groups;)
        done += scores_some(groups - done, y + done * KEY_GROUP, q, keys + (size_t)done * stride,
                            stride, K);
}

/* `vectors` vectors of channels of `heads` heads together. */
static inline __attribute__((always_inline)) void means_of(const int heads, const int vectors,
                                                           float *y, const float *p, size_t p_row,
                                                           const float *const *v, size_t v_row,
                                                           int n, int K) {
    Vector sum[SUMS] = {0};
    for (size_t s = 0; s < (size_t)n; s++)
#pragma GCC unroll 8
        for (int h = 0; h < heads; h++) {
            Vector weight = all(p[(size_t)h * p_row + s]);
#pragma GCC unroll 8
            for (int i = 0; i < vectors; i++)
                sum[h * vectors + i] =
                    multiply_add(weight, load(v[h] + s * v_row + i * LANES), sum[h * vectors + i]);
        }
#pragma GCC unroll 8
    for (int i = 0; i < heads * vectors; i++)
        store(y + (size_t)(i / vectors) * (size_t)K + i % vectors * LANES, sum[i]);
}

/* The same with the number of vectors, and so of heads, as a constant: returns how many heads. */
static int means_some(int vectors, int heads, float *y, const float *p, size_t p_row,
                      const float *const *v, size_t v_row, int n, int K) {
    if (vectors * heads >= SUMS) {
        switch (vectors) {
            case 8: means_of(1, 8, y, p, p_row, v, v_row, n, K); return 1;
            case 4: means_of(2, 4, y, p, p_row, v, v_row, n, K); return 2;
            case 2: means_of(4, 2, y, p, p_row, v, v_row, n, K); return 4;
            case 1: means_of(8, 1, y, p, p_row, v, v_row, n, K); return 8;
        }
    }
    switch (vectors) {
        case 4: means_of(1, 4, y, p, p_row, v, v_row, n, K); break;
        case 2: means_of(1, 2, y, p, p_row, v, v_row, n, K); break;
        case 1: means_of(1, 1, y, p, p_row, v, v_row, n, K); break;
    }
    return 1;
}

/* As many channels of a head together as whole vectors allow: 8, 4, 2 or 1 of them; the rest one
 * by one. */
static void means(float *y, const float *p, size_t p_row, const float *v, size_t v_row, int n,
                  int K, int heads, int group) {
    const float *from[SUMS];
    int k = 0;
    for (int vectors = SUMS; vectors > 0; vectors /= 2)
        for (; k + vectors * LANES <= K; k += vectors * LANES)
            for (int h = 0, some; h < heads; h += some) {
                for (int i = 0; i < SUMS; i++) from[i] = v + (h + i) / group * K + k;
                some = means_some(vectors, heads - h, y + h * K + k, p + (size_t)h * p_row, p_row,
                                  from, v_row, n, K);
            }
    for (; k < K; k++)
        for (int h = 0; h < heads; h++) {
            float sum = 0;
            for (int s = 0; s < n; s++)
                sum = fused(p[(size_t)h * p_row + (size_t)s],
                            v[(size_t)s * v_row + (size_t)(h / group * K + k)], sum);
            y[h * K + k] = sum;
        }
}

static void add(float *y, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static void sum(float *y, const float *a, const float *b, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

/* ---- one row times rounded weights ---- */

typedef uint32_t UnalignedBits
    __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* The distance of prefetches: a page of 4 KiB, beyond which the hardware does not prefetch. */
enum { PAIRS_AHEAD = 1024 };

/* A bfloat16 is the upper half of a float. bf16_weights.c rounds the upper number of a pair with
 * the lower one's bits below it. */
static inline __attribute__((always_inline)) void bf16_gemv_of(const int vectors, float *y,
                                                               const float *x,
                                                               const uint32_t *pairs, int K,
                                                               int columns, const float *bias) {
    Vector even[TILE_VECTORS], odd[TILE_VECTORS];
    float sums[TILE_COLUMNS] = {0};
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) even[j] = odd[j] = (Vector){0};
    for (int p = 0; p < K; p += 2, pairs += vectors * LANES) {
        float first = x[p], second = p + 1 < K ? x[p + 1] : 0;
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) {
            __builtin_prefetch(pairs + j * LANES + PAIRS_AHEAD);
            Bits both = *(const UnalignedBits *)(pairs + j * LANES);
            even[j] = multiply_add(all(first), (Vector)(both << 16), even[j]);
            odd[j] = multiply_add(all(second), (Vector)both, odd[j]);
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) store(sums + j * LANES, even[j] + odd[j]);
    for (int j = 0; j < columns; j++) y[j] = bias ? bias[j] + sums[j] : sums[j];
}

static void bf16_gemv(float *y, const float *x, const uint32_t *pairs, int K, int columns,
                      const float *bias) {
    switch ((columns + LANES - 1) / LANES) {
        case 1: bf16_gemv_of(1, y, x, pairs, K, columns, bias); break;
        case 2: bf16_gemv_of(2, y, x, pairs, K, columns, bias); break;
#if defined __AVX512F__ || defined __aarch64__ || defined PORTABLE || defined __wasm__
        case 3: bf16_gemv_of(3, y, x, pairs, K, columns, bias); break;
        case 4: bf16_gemv_of(4, y, x, pairs, K, columns, bias); break;
#endif
    }
}

/* ---- one row times weights of 8 bits ---- */

typedef int32_t Pairs __attribute__((aligned(2), may_alias)); /* two int16_t */

/* sum + x0 w0 + x1 w1 in each lane: `both` is x0 and x1, and w has w0 and w1 of each lane. */
static inline Integers add_pairs(Integers sum, int32_t both, const int8_t *w) {
#if defined PORTABLE || !(defined __x86_64__ || defined __aarch64__)
    int16_t x[2];
    memcpy(x, &both, sizeof x);
    for (int i = 0; i < LANES; i++) sum[i] += x[0] * w[2 * i] + x[1] * w[2 * i + 1];
    return sum;
#elif defined __AVX512BW__
    __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)w));
    return sum + (Integers)_mm512_madd_epi16(wide, _mm512_set1_epi32(both));
#elif defined __AVX2__
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)w));
    return sum + (Integers)_mm256_madd_epi16(wide, _mm256_set1_epi32(both));
#elif defined __x86_64__
    __m128i twice = _mm_loadl_epi64((const void *)w);
    __m128i wide = _mm_srai_epi16(_mm_unpacklo_epi8(twice, twice), 8);
    return sum + (Integers)_mm_madd_epi16(wide, _mm_set1_epi32(both));
#else
    int16x8_t wide = vmovl_s8(vld1_s8(w)), x = vreinterpretq_s16_s32(vdupq_n_s32(both));
    int32x4_t low = vmull_s16(vget_low_s16(wide), vget_low_s16(x));
    return sum + (Integers)vpaddq_s32(low, vmull_high_s16(wide, x));
#endif
}

enum { INT8_VECTORS = INT8_PANEL / LANES };

static void int8_gemv(float *y, const int16_t *x, float scale, const int8_t *w, const float *scales,
                      int K, int columns, const float *start) {
    for (int first = 0; first < columns; first += INT8_PANEL, scales += INT8_PANEL) {
        Integers sum[INT8_VECTORS] = {0};
#pragma GCC unroll 4
        for (int p = 0; p < K; p += 2, w += 2 * INT8_PANEL) {
            int32_t both = *(const Pairs *)(x + p);
#pragma GCC unroll 8
            for (int j = 0; j < INT8_VECTORS; j++)
                sum[j] = add_pairs(sum[j], both, w + 2 * j * LANES);
        }
        bool whole = columns - first >= INT8_PANEL;
        size_t rest = whole ? INT8_PANEL : (size_t)(columns - first);
        float edge[INT8_PANEL] = {0}, *to = whole ? y + first : edge;
        const float *from = start ? start + first : NULL;
        if (from && !whole) from = memcpy(edge, from, rest * sizeof *edge);
#pragma GCC unroll 8
        for (int j = 0; j < INT8_VECTORS; j++) {
            Vector of =
                __builtin_convertvector(sum[j], Vector) * (load(scales + j * LANES) * all(scale));
            store(to + j * LANES, from ? load(from + j * LANES) + of : of);
        }
        if (!whole) memcpy(y + first, edge, rest * sizeof *y);
    }
}

/* The largest size is found in the bits of the numbers, in which a NaN is above all. Adding 1.5 *
 * 2^23 rounds to an integer in the low bits. */
static float round_to_16(int16_t *y, const float *x, int limit, int n) {
    const float shift = 0x1.8p23f, tiny = 0x1p-100f;
    int32_t most = 0;
    float largest;
#pragma omp simd reduction(max : most)
    for (int i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    memcpy(&largest, &most, sizeof largest);
    float times = largest < tiny ? 0 : (float)limit / largest;
#pragma omp simd
    for (int i = 0; i < n; i++) {
        float shifted = x[i] * times + shift;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        y[i] = (int16_t)bits;
    }
    if (n % 2) y[n] = 0;
    return largest < tiny ? 0 : largest / (float)limit;
}

/* ---- exponentials ---- */

static const float log2e = 1.44269504f;

/* e^x with a relative error below 2e-7 from -87 to 88; 0 below that range, e^88 above it, NaN for
 * NaN. x = n ln 2 + r with |r| <= ln 2 / 2. The polynomial for e^r is from Moshier's Cephes library
 * (expf, 1992). Adding 1.5 * 2^23 rounds to an integer n and leaves n in the low bits, which become
 * the exponent. Below -87 the result is 0 whatever was computed. */
static inline Vector exponential(Vector x) {
    const float shift = 0x1.8p23f;
    const float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static const float series[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                   1.6666665459e-1f, 5.0000001201e-1f};
    Vector clamped = smaller(all(88.0f), x);
    Vector shifted = multiply_add(clamped, all(log2e), all(shift));
    Vector n = shifted - shift;
    Vector r = multiply_add(n, all(-ln2_low), multiply_add(n, all(-ln2_high), clamped));
    Vector poly = all(1.9875691500e-4f);
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) poly = multiply_add(poly, r, all(series[i]));
    poly = multiply_add(poly, r * r, r) + 1.0f;
    Vector scale = (Vector)(((Bits)shifted + 127) << 23);
    return zero_below(x, all(-87.0f), poly * scale);
}

static float largest(const float *x, int n) {
    Vector most = all(-INFINITY);
    float lane[LANES];
    for (int j = 0; j < n; j += LANES)
        most = larger(load_some(x + j, (size_t)(n - j), -INFINITY), most);
    store(lane, most);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++)
            lane[i] = lane[i + half] > lane[i] ? lane[i + half] : lane[i];
    return lane[0];
}

/* y = exp(scale x - above), and returns its sum. */
static inline float exponentials(float *y, const float *x, float scale, float above, int n) {
    Lanes sum = {0};
    for (int first = 0; first < n; first += WIDE)
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++) {
            int j = first + i * LANES;
            if (j >= n) break;
            Vector of = load_some(x + j, (size_t)(n - j), -INFINITY);
            Vector result = exponential(multiply_add(of, all(scale), all(-above)));
            store_some(y + j, (size_t)(n - j), result);
            sum.part[i] += result;
        }
    return sum_lanes(sum);
}

enum { ROWS = 8 }; /* at a time */

/* Each step is done for all rows, so that the long chain of operations of one row overlaps with the
 * others. */
static void softmax(float *p, size_t row, float *lse, const float *x, float scale, int rows,
                    int n) {
    float max[ROWS] = {0}, total[ROWS] = {0}, logs[ROWS];
    for (int first = 0; first < rows; first += ROWS, p += ROWS * row, x += ROWS * row) {
        int some = rows - first < ROWS ? rows - first : ROWS;
        for (int i = 0; i < some; i++)
            max[i] = largest(x + (size_t)i * row, n) * scale; /* scale > 0 */
        for (int i = 0; i < some; i++)
            total[i] = exponentials(p + (size_t)i * row, x + (size_t)i * row, scale, max[i], n);
        for (int i = 0; i < some; i++) {
            float *y = p + (size_t)i * row, inverse = 1.0f / total[i];
#pragma omp simd
            for (int j = 0; j < n; j++) y[j] *= inverse;
        }
        if (!lse) continue;
#pragma omp simd
        for (int i = 0; i < ROWS; i++)
            logs[i] = max[i] + (float)natural_logarithm((double)total[i]);
        memcpy(lse + first, logs, (size_t)some * sizeof *lse);
    }
}

static float log_sum_exp(const float *x, int n) {
    enum { SOME = 64 };
    float max = largest(x, n), part[SOME];
    Lanes sum = {0};
    for (int first = 0; first < n; first += SOME) {
        int some = n - first < SOME ? n - first : SOME;
        for (int j = 0; j < some; j += LANES)
            store(part + j, exponential(load_some(x + first + j, (size_t)(some - j), 0) - max));
        add_lanes(&sum, part, some);
    }
    return max + (float)natural_logarithm((double)sum_lanes(sum));
}

static void softmax_backward(float *x, float *p, size_t row, const float *lse, const float *mean,
                             float scale, int rows, int n) {
    for (int i = 0; i < rows; i++, x += row, p += row) {
        Vector below = all(-lse[i]), middle = all(mean[i]);
        for (int j = 0; j < n; j += LANES) {
            size_t left = (size_t)(n - j);
            Vector score = load_some(p + j, left, 0), of = load_some(x + j, left, 0);
            Vector weight = exponential(multiply_add(score, all(scale), below));
            store_some(p + j, left, weight);
            store_some(x + j, left, weight * (of - middle) * scale);
        }
    }
}

static void mask(float *x, size_t row, int rows, int n, int more, int columns) {
    for (int i = 0; i < rows; i++, x += row, n += more)
        for (int j = n / LANES * LANES; j < columns; j += LANES) {
            Bits seen = (Bits)lanes_below(n - j), of = (Bits)load(x + j);
            store(x + j, (Vector)((of & seen) | ((Bits)all(-INFINITY) & ~seen)));
        }
}

/* ---- GELU ---- */

/* 1 + 2^x, whose inverse is the logistic function of -x ln 2. 2^x has a relative error below 2e-7
 * from -125 to 125; beyond, it is 2^-125 or 2^125. x = n + r with |r| <= 1/2. Of all polynomials of
 * this degree that are 1 at 0, this one has the smallest maximal relative error of 2^r; linear
 * programming found it. The integer n, found as in `exponential`, is added to the exponent. For NaN
 * the result is some number: callers divide NaN by it, or multiply NaN by its inverse. */
static inline Vector one_and_power_of_two(Vector x) {
    const float shift = 0x1.8p23f;
    static const float series[] = {0.00967151113f, 0.0555073395f, 0.240222424f, 0.693147004f, 1};
    Vector clamped = larger(all(-125.0f), smaller(all(125.0f), x));
    Vector shifted = clamped + shift;
    Vector r = clamped - (shifted - shift);
    Vector poly = all(0.00132646528f);
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) poly = multiply_add(poly, r, all(series[i]));
    return (Vector)((Bits)poly + ((Bits)shifted << 23)) + 1.0f;
}

/* y = x (1 + tanh(u)) / 2 = x s(2u) with s the logistic function and u = sqrt(2 / pi) (x + 0.044715
 * x^3). 2u is `linear` x + `cubic` x^3; e^(-2u) is 2^(x power) below. */
static const float gelu_linear = 2 * 0.7978845608f, gelu_cubic = 2 * 0.7978845608f * 0.044715f;

static void gelu(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        Vector of = load_some(x + i, n - i, 0);
        Vector power = multiply_add(all(-log2e * gelu_cubic), of * of, all(-log2e * gelu_linear));
        store_some(y + i, n - i, of / one_and_power_of_two(of * power));
    }
}

/* The distance of prefetches of numbers that the forward pass left in memory, and of results: a
 * gradient itself was written just before. */
enum { NUMBERS_AHEAD = 512 };

/* dy/dx = s + x s (1 - s) d(2u)/dx */
static void gelu_backward(float *dx, float *y, const float *x, const float *dy, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        __builtin_prefetch(x + i + NUMBERS_AHEAD);
        __builtin_prefetch(y + i + NUMBERS_AHEAD, 1);
        Vector of = load_some(x + i, n - i, 0), up = load_some(dy + i, n - i, 0), square = of * of;
        Vector power = multiply_add(all(-log2e * gelu_cubic), square, all(-log2e * gelu_linear));
        Vector s = 1.0f / one_and_power_of_two(of * power), out = of * s;
        Vector slope = multiply_add(all(3.0f * gelu_cubic), square, all(gelu_linear));
        store_some(y + i, n - i, out);
        store_some(dx + i, n - i, up * multiply_add(out * (1.0f - s), slope, s));
    }
}

/* ---- LayerNorm ---- */

static void normalize(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int n) {
    float mu = total_of(x, n) / (float)n;
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = x[i] - mu;
    float scale = 1.0f / sqrtf(dot(y, y, (size_t)n) / (float)n + 1e-5f);
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = fused(y[i] * scale, w[i], b[i]);
    *mean = mu;
    *rstd = scale;
}

static void normalize_recompute(float *y, const float *x, float mean, float rstd, const float *w,
                                const float *b, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = fused((x[i] - mean) * rstd, w[i], b[i]);
}

/* With xhat = (x - mean) rstd and g = dy w: dx += rstd (g - mean(g) - xhat mean(g xhat)). */
static void normalize_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                               float mean, float rstd, const float *w, int n) {
    Lanes g_sum = {0}, gx_sum = {0};
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        Lanes of_x = next_lanes(x + i, left), of_w = next_lanes(w + i, left);
        Lanes up = next_lanes(dy + i, left);
        Lanes of_dw = next_lanes(dw + i, left), of_db = next_lanes(db + i, left);
#pragma GCC unroll 4
        for (int j = 0; j < PARTS; j++) {
            Vector g = up.part[j] * of_w.part[j], hat = (of_x.part[j] - all(mean)) * all(rstd);
            g_sum.part[j] += g;
            gx_sum.part[j] = multiply_add(g, hat, gx_sum.part[j]);
            of_dw.part[j] = multiply_add(up.part[j], hat, of_dw.part[j]);
            of_db.part[j] += up.part[j];
        }
        store_lanes(dw + i, left, of_dw);
        store_lanes(db + i, left, of_db);
    }
    float g_mean = sum_lanes(g_sum) / (float)n, gx_mean = sum_lanes(gx_sum) / (float)n;
#pragma omp simd
    for (int j = 0; j < n; j++) {
        float hat = (x[j] - mean) * rstd;
        dx[j] = fused(rstd, fused(-hat, gx_mean, fused(dy[j], w[j], -g_mean)), dx[j]);
    }
}

/* ---- RMSNorm ---- */

static void rms_normalize_recompute(float *y, const float *x, float rstd, const float *w, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = x[i] * rstd * w[i];
}

static void rms_normalize(float *y, float *rstd, const float *x, const float *w, int n) {
    *rstd = 1.0f / sqrtf(dot(x, x, (size_t)n) / (float)n + 1e-6f);
    rms_normalize_recompute(y, x, *rstd, w, n);
}

/* With xhat = x rstd and g = dy w: dx += rstd (g - xhat mean(g xhat)). */
static void rms_normalize_backward(float *dx, float *dw, const float *dy, const float *x,
                                   float rstd, const float *w, int n) {
    Lanes sum = {0};
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        Lanes of_x = next_lanes(x + i, left), of_w = next_lanes(w + i, left);
        Lanes up = next_lanes(dy + i, left), of_dw = next_lanes(dw + i, left);
#pragma GCC unroll 4
        for (int j = 0; j < PARTS; j++) {
            Vector both = up.part[j] * of_x.part[j] * all(rstd);
            sum.part[j] = multiply_add(both, of_w.part[j], sum.part[j]);
            of_dw.part[j] += both;
        }
        store_lanes(dw + i, left, of_dw);
    }
    float mean = sum_lanes(sum) / (float)n;
#pragma omp simd
    for (int j = 0; j < n; j++)
        dx[j] = fused(rstd, fused(dy[j], w[j], -(x[j] * rstd) * mean), dx[j]);
}

/* ---- SwiGLU ---- */

static void swiglu(float *y, const float *gate, const float *up, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        Vector g = load_some(gate + i, n - i, 0);
        store_some(y + i, n - i,
                   g / one_and_power_of_two(g * -log2e) * load_some(up + i, n - i, 0));
    }
}

/* With s the logistic function of the gate: dup = dy gate s, dgate = dy up s (1 + gate (1 - s)). */
static void swiglu_backward(float *dgate, float *dup, float *y, const float *gate, const float *up,
                            const float *dy, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        __builtin_prefetch(gate + i + NUMBERS_AHEAD);
        __builtin_prefetch(up + i + NUMBERS_AHEAD);
        __builtin_prefetch(y + i + NUMBERS_AHEAD, 1);
        __builtin_prefetch(dup + i + NUMBERS_AHEAD, 1);
        Vector g = load_some(gate + i, n - i, 0), u = load_some(up + i, n - i, 0);
        Vector d = load_some(dy + i, n - i, 0), s = 1.0f / one_and_power_of_two(g * -log2e);
        Vector open = g * s;
        store_some(y + i, n - i, open * u);
        store_some(dup + i, n - i, d * open);
        store_some(dgate + i, n - i, d * u * s * multiply_add(g, 1.0f - s, all(1.0f)));
    }
}

/* ---- rotary positions ---- */

static void rotate(float *y, const float *x, const float *cosine, const float *sine, float way,
                   int half) {
#pragma omp simd
    for (int i = 0; i < half; i++) {
        float a = x[i], b = x[i + half], s = sine[i] * way;
        y[i] = fused(a, cosine[i], -(b * s));
        y[i + half] = fused(b, cosine[i], a * s);
    }
}

/* ---- causal convolution ---- */

static void convolve(float *y, const float *x, ptrdiff_t next, const float *taps, size_t row, int K,
                     int n) {
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        const float *from = x + i, *tap = taps + i;
        Lanes sum = next_lanes(from, left);
        for (int k = 0; k < K; k++, from += next, tap += row) {
            Lanes of_tap = next_lanes(tap, left), of_x = next_lanes(from, left);
#pragma GCC unroll 4
            for (int j = 0; j < PARTS; j++)
                sum.part[j] = multiply_add(of_tap.part[j], of_x.part[j], sum.part[j]);
        }
        store_lanes(y + i, left, sum);
    }
}

/* For 16 channels, or the last ones, of some taps: as many chains of sums as taps. `taps` is a
 * constant when this is inlined, so they are in registers. */
static inline __attribute__((always_inline)) void
convolve_gradients_of(const int taps, float *dtaps, const float *dy, const float *x, size_t row,
                      int tokens, size_t left) {
    Lanes sum[CHAINS];
#pragma GCC unroll 4
    for (int k = 0; k < taps; k++) sum[k] = next_lanes(dtaps + (size_t)k * row, left);
    for (int t = 0; t < tokens; t++, dy += row, x += row) {
        Lanes of_dy = next_lanes(dy, left);
        __builtin_prefetch(dy + ROWS_AHEAD * row); /* they often come from memory */
        __builtin_prefetch(x + ROWS_AHEAD * row);
#pragma GCC unroll 4
        for (int k = 0; k < taps; k++) {
            Lanes of_x = next_lanes(x - (size_t)k * row, left);
#pragma GCC unroll 4
            for (int j = 0; j < PARTS; j++)
                sum[k].part[j] = multiply_add(of_dy.part[j], of_x.part[j], sum[k].part[j]);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < taps; k++) store_lanes(dtaps + (size_t)k * row, left, sum[k]);
}

static void convolve_gradients(float *dtaps, const float *dy, const float *x, size_t row,
                               int tokens, int K, int n) {
    for (int i = 0; i < n; i += WIDE)
        for (int k = 0; k < K; k += CHAINS) {
            float *to = dtaps + (size_t)k * row + i;
            const float *from = x - (size_t)k * row + i;
            size_t left = (size_t)(n - i);
            switch (K - k) {
                case 1: convolve_gradients_of(1, to, dy + i, from, row, tokens, left); break;
                case 2: convolve_gradients_of(2, to, dy + i, from, row, tokens, left); break;
                case 3: convolve_gradients_of(3, to, dy + i, from, row, tokens, left); break;
                default: convolve_gradients_of(4, to, dy + i, from, row, tokens, left);
            }
        }
}

/* ---- dropout ---- */

/* 32 well-mixed bits (the constants are from Wellons, "Prospecting for Hash Functions", 2018). */
static inline uint32_t mix32(uint32_t x) {
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static void dropout(float *y, const float *x, DropoutRow mask, int n) {
    uint32_t low = (uint32_t)mask.key, high = (uint32_t)(mask.key >> 32);
#pragma omp simd
    for (int i = 0; i < n; i++) {
        uint32_t bits = mix32(mix32((uint32_t)i ^ low) ^ high);
        y[i] = bits < mask.threshold ? x[i] * mask.scale : 0.0f;
    }
}

/* ---- the optimizer ---- */

static void axpby(float *y, float b, const float *x, float a, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = fused(b, y[i], a * x[i]);
}

static void adamw(float *w, float *m, float *v, const float *dw, AdamW step, size_t n) {
    float rate = step.learning_rate / step.correction1;
    float root = 1.0f / sqrtf(step.correction2);
    float shrink = 1.0f - step.learning_rate * step.decay;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = dw[i] * step.gradient_scale;
        m[i] = fused(step.beta1, m[i], (1.0f - step.beta1) * g);
        v[i] = fused(step.beta2, v[i], (1.0f - step.beta2) * g * g);
        float move = rate * m[i] / fused(sqrtf(v[i]), root, step.epsilon);
        w[i] = fused(shrink, w[i], -move);
    }
}

extern const Isa TABLE_NAME(ISA);
const Isa TABLE_NAME(ISA) = {
    .name = NAME_OF(ISA),
    .lanes = LANES,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .block_terms = BLOCK_TERMS,
    .tile = tile,
    .tiles = tiles,
    .transpose = transpose,
    .copy = copy,
    .copy_and_sum = copy_and_sum,
    .copy_panels = copy_panels,
    .copy_past_cache = copy_past_cache,
    .scores = scores,
    .means = means,
    .bf16_gemv = bf16_gemv,
    .int8_gemv = int8_gemv,
    .round_to_16 = round_to_16,
    .softmax = softmax,
    .log_sum_exp = log_sum_exp,
    .softmax_backward = softmax_backward,
    .mask = mask,
    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .normalize = normalize,
    .normalize_recompute = normalize_recompute,
    .normalize_backward = normalize_backward,
    .rms_normalize = rms_normalize,
    .rms_normalize_recompute = rms_normalize_recompute,
    .rms_normalize_backward = rms_normalize_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .rotate = rotate,
    .convolve = convolve,
    .convolve_gradients = convolve_gradients,
    .axpby = axpby,
    .add = add,
    .sum = sum,
    .dropout = dropout,
    .dot = dot,
    .adamw = adamw,
};
