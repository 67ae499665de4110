/* bf16.c - products of bfloat16 numbers, summed in float32, on processors that have instructions
 * for them: AMX's tiles, or AVX-512's dot products of pairs.
 *
 * Operands are float32 and are rounded when they are packed. Both instructions multiply pairs of
 * neighboring terms. The left operand is packed in squares of 16 rows of 32 terms, row by row. The
 * right operand is packed in panels of 32 columns; for each 32 terms a panel has two squares of 16
 * rows, and a row has the pairs of 16 columns. Missing numbers are 0. Blocking and sharing are
 * those of matmul.c. */
#include "model/kernels/isa/vectors.h"
#include "model/kernels/products.h"
#include "base/array.h"

enum {
    TILE = 32,               /* rows and columns of a result's tile; terms of a step */
    SQUARE = 16 * 32,        /* numbers in 16 rows of 32 */
    STEP = 2 * SQUARE,       /* numbers of a panel in 32 terms */
    TERMS = 2 * MATMUL_TERMS /* in a block: as many bytes as a float32 block */
};

static int steps_in(int K) {
    return ceil_div_int(K, TILE);
}

/* ---- packing ---- */

static __mmask16 first_lanes(int n) {
    return (__mmask16)(n >= LANES ? 0xFFFF : (1 << n) - 1);
}

/* Returns the pair (even, odd) of numbers in each lane, rounded. */
static inline __m512i pairs_of(__m512 even, __m512 odd) {
    const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(zip, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Pairs of the terms p and p + 1 of 16 columns of from[K,columns]. */
static inline __m512i load_pairs(const float *from, size_t row, int p, int K, int columns) {
    __mmask16 mask = first_lanes(columns);
    const float *at = from + (size_t)p * row;
    __m512 even = p < K ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
    __m512 odd = p + 1 < K ? _mm512_maskz_loadu_ps(mask, at + row) : _mm512_setzero_ps();
    return pairs_of(even, odd);
}

/* Returns a row of up to 32 terms, rounded. */
static inline __m512i load_terms(const float *from, int K) {
    __m512 left = _mm512_maskz_loadu_ps(first_lanes(K), from);
    __m512 right = _mm512_maskz_loadu_ps(first_lanes(K > LANES ? K - LANES : 0), from + LANES);
    return (__m512i)_mm512_cvtne2ps_pbh(right, left);
}

/* sums[rows] += the sum of each column of from[K,rows], up to 32 terms of up to 16 columns. */
static inline void add_sums(float *sums, const float *from, size_t row, int rows, int K) {
    __mmask16 mask = first_lanes(rows);
    __m512 sum = _mm512_maskz_loadu_ps(mask, sums);
    for (int p = 0; p < K && p < TILE; p++, from += row)
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, from));
    _mm512_mask_storeu_ps(sums, mask, sum);
}

/* Packs a square of up to 32 terms of n rows (or columns) from from[K,n]: 16 pairs of terms of
 * each, one pair after another. */
static void pack_pairs(uint16_t *to, const float *from, size_t row, int K, int n) {
    for (int p = 0; p < LANES; p++, to += TILE)
        _mm512_storeu_si512(to, load_pairs(from, row, 2 * p, K, n));
}

/* Packs such a square from from[n,K]: one row after another. Prefetches those `ahead` rows further.
 */
static void pack_rows(uint16_t *to, const float *from, size_t row, int K, int n, size_t ahead) {
    for (int i = 0; i < LANES && i < n; i++, to += TILE, from += row) {
        __builtin_prefetch(from + ahead * row);
        __builtin_prefetch(from + ahead * row + LANES);
        _mm512_storeu_si512(to, load_terms(from, K));
    }
}

/* Exchanges these two orders. */
static void transpose_pairs(uint16_t *square) {
    Vector row[LANES];
    EACH(i, LANES) row[i] = load((float *)square + i * LANES);
    transpose_lanes(row);
    EACH(i, LANES) store((float *)square + i * LANES, row[i]);
}

/* Packs 32 terms of panel number j of b[K,N]. */
INLINE void pack_step(uint16_t *panel, Matrix b, int K, int N, int j, int step) {
    for (int half = 0; half < 2; half++) {
        int column = j * TILE + half * LANES, p = step * TILE;
        const float *from = matrix_at(b, p, column).at;
        uint16_t *to = panel + step * STEP + half * SQUARE;
        if (column >= N) {
            memset(to, 0, SQUARE * sizeof *to);
        } else if (b.column_stride == 1) {
            pack_pairs(to, from, b.row_stride, K - p, N - column);
        } else {
            if (N - column < LANES) memset(to, 0, SQUARE * sizeof *to);
            pack_rows(to, from, b.column_stride, K - p, N - column, TILE);
            transpose_pairs(to);
        }
    }
}

static int panels_in(int N) {
    return ceil_div_int(N, TILE);
}

static size_t panel_size(int K) {
    return (size_t)steps_in(K) * STEP;
}

/* Packs a block of the left operand: for each 16 rows, squares of 16 rows of 32 terms, in memory
 * order. If `sums` is not NULL, adds the sum of each row to it; a must be transposed. */
static void pack_left(uint16_t *to, Matrix a, int rows, int K, float *sums) {
    int steps = steps_in(K);
    if (a.row_stride == 1)
        for (int p = 0; p < K; p += TILE)
            for (int i = 0; i < rows; i += LANES) {
                const float *from = matrix_at(a, i, p).at;
                uint16_t *square = to + (size_t)(i / LANES * steps + p / TILE) * SQUARE;
                pack_pairs(square, from, a.column_stride, K - p, rows - i);
                transpose_pairs(square);
                if (sums) add_sums(sums + i, from, a.column_stride, rows - i, K - p);
            }
    else
        for (int i = 0; i < rows; i += LANES)
            for (int p = 0; p < K; p += TILE, to += SQUARE)
                pack_rows(to, matrix_at(a, i, p).at, a.row_stride, K - p, rows - i, 0);
}

/* ---- tiles ----
 * c[rows,columns] (+)= a[rows,32 steps] b[32 steps,columns], for one panel; rows, columns <= 32. a
 * always has 32 rows: the lower 16 follow the upper 16. */

static void tile_avx512(float *c, size_t c_row, const uint16_t *a, const uint16_t *b, int steps,
                        int rows, int columns, const float *bias, bool accumulate) {
    enum { ROWS = 8 };
    __mmask16 mask[2] = {first_lanes(columns), first_lanes(columns > LANES ? columns - LANES : 0)};
    for (int first = 0; first < rows; first += ROWS) {
        const uint16_t *left = a + (size_t)(first / LANES * steps) * SQUARE + first % LANES * TILE;
        __m512 sum[ROWS][2];
        EACH(i, ROWS) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
        const uint16_t *right = b;
        for (int step = 0; step < steps; step++, left += SQUARE - TILE, right += STEP - SQUARE) {
            /* prefetches two rows of the next results */
            for (int i = 2 * step; i < 2 * step + 2 && i < ROWS; i++) {
                __builtin_prefetch(c + (size_t)(first + ROWS + i) * c_row, 1);
                __builtin_prefetch(c + (size_t)(first + ROWS + i) * c_row + LANES, 1);
            }
            for (int p = 0; p < LANES; p++, left += 2, right += TILE) {
                __m512bh b0 = (__m512bh)_mm512_loadu_si512(right);
                __m512bh b1 = (__m512bh)_mm512_loadu_si512(right + SQUARE);
                EACH(i, ROWS) {
                    int pair;
                    memcpy(&pair, left + i * TILE, sizeof pair);
                    __m512bh value = (__m512bh)_mm512_set1_epi32(pair);
                    sum[i][0] = _mm512_dpbf16_ps(sum[i][0], value, b0);
                    sum[i][1] = _mm512_dpbf16_ps(sum[i][1], value, b1);
                }
            }
        }
        EACH(i, ROWS) EACH(half, 2) {
            if (first + (int)i >= rows) continue;
            float *to = c + ((size_t)first + i) * c_row + half * LANES;
            const float *start = accumulate ? to : bias ? bias + half * LANES : NULL;
            __m512 total = sum[i][half];
            if (start) total = _mm512_add_ps(total, _mm512_maskz_loadu_ps(mask[half], start));
            _mm512_mask_storeu_ps(to, mask[half], total);
        }
    }
}

/* AMX's eight tile registers of 16 rows of 64 bytes (Intel's manual, volume 1, chapter 18) are
 * configured before the tiles of a call, and released after them. Returns whether they are. */
static bool amx_begin(const Thread *thread) {
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } configuration = {.palette = 1,
                       .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                       .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    if (thread->products != &bf16_amx) return false;
    _tile_loadconfig(&configuration);
    return true;
}

static void amx_end(bool amx) {
    if (amx) _tile_release();
}

static void tile_amx(float *c, size_t c_row, const uint16_t *a, const uint16_t *b, int steps,
                     int rows, int columns, const float *bias, bool accumulate) {
    const uint16_t *lower = a + (size_t)steps * SQUARE; /* 16 rows further down */
    float edge[TILE * TILE] __attribute__((aligned(64)));
    bool whole = rows == TILE && columns == TILE;
    float *to = whole ? c : edge;
    size_t bytes = (whole ? c_row : TILE) * sizeof *c;
    size_t below = LANES * (whole ? c_row : TILE);
    /* at an edge, c and the bias are added at the end; a stride of 0 repeats the bias */
    const float *start = !whole ? NULL : accumulate ? c : bias;
    size_t start_bytes = accumulate ? bytes : 0, start_below = accumulate ? below : 0;
    if (start) {
        _tile_loadd(0, start, start_bytes);
        _tile_loadd(1, start + LANES, start_bytes);
        _tile_loadd(2, start + start_below, start_bytes);
        _tile_loadd(3, start + start_below + LANES, start_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    /* the result is often not in the cache: unless prefetched, each of its lines would stall */
    enum { AT_ONCE = 4 };
    for (int step = 0; step < steps; step++, a += SQUARE, lower += SQUARE, b += STEP) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + SQUARE, 64);
        _tile_loadd(5, lower, 64);
        for (int i = step * AT_ONCE; i < (step + 1) * AT_ONCE && i < rows; i++) {
            __builtin_prefetch(c + (size_t)i * c_row, 1);
            __builtin_prefetch(c + (size_t)i * c_row + LANES, 1);
        }
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, to, bytes);
    _tile_stored(1, to + LANES, bytes);
    _tile_stored(2, to + below, bytes);
    _tile_stored(3, to + below + LANES, bytes);
    if (whole) return;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            float *one = &c[(size_t)i * c_row + (size_t)j], sum = edge[i * TILE + j];
            *one = accumulate ? *one + sum : bias ? bias[j] + sum : sum;
        }
}

/* ---- products ---- */

static size_t packed_floats(const Isa *isa, int K, int N) {
    (void)isa;
    return (size_t)panels_in(N) * panel_size(K) / 2;
}

/* Returns the offset of the block of terms from p on, and the size of its panels. */
static size_t block_at(int p, int N) {
    return (size_t)panels_in(N) * panel_size(p);
}

static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    int blocks = ceil_div_int(K, TERMS), panels = panels_in(N);
    Share share = team_share(thread, (size_t)blocks * (size_t)panels, 1);
    for (int i = (int)share.begin; i < (int)share.end; i++) {
        int p = i / panels * TERMS, j = i % panels, terms = min_int(TERMS, K - p);
        uint16_t *panel = (uint16_t *)packed + block_at(p, N) + (size_t)j * panel_size(terms);
        for (int step = 0; step < steps_in(terms); step++)
            pack_step(panel, matrix_at(b, p, 0), terms, N, j, step);
    }
}

/* Multiplies packed rows by panels that are `panel` numbers apart. */
static void multiply_block(bool amx, float *c, size_t c_row, const uint16_t *a,
                           const uint16_t *block, size_t panel, int M, int first, int N, int K,
                           const float *bias, bool accumulate) {
    size_t row = (size_t)steps_in(K) * TILE;
    for (int j = first; j < N; j += TILE)
        for (int i = 0; i < M; i += TILE)
            (amx ? tile_amx : tile_avx512)(c + (size_t)i * c_row + (size_t)j, c_row,
                                           a + (size_t)i * row, block + (size_t)(j / TILE) * panel,
                                           steps_in(K), min_int(TILE, M - i), min_int(TILE, N - j),
                                           bias ? bias + j : NULL, accumulate);
}

/* Multiplies a part, with `upper` only on and above the diagonal. */
static void multiply_part(const Thread *thread, float *c, size_t c_row, const float *a,
                          size_t a_row, Packed b, int M, int K, const float *bias, int columns,
                          bool upper) {
    uint16_t *left = (uint16_t *)thread->left;
    bool amx = amx_begin(thread);
    for (int i = 0; i < M; i += MATMUL_ROWS)
        for (int p = 0; p < K; p += TERMS) {
            int rows = min_int(MATMUL_ROWS, M - i), terms = min_int(TERMS, K - p);
            const uint16_t *block = (const uint16_t *)b.at + block_at(p, b.N);
            size_t panel = panel_size(min_int(TERMS, b.K - p));
            float *to = c + (size_t)i * c_row;
            const float *start = p == 0 ? bias : NULL;
            pack_left(left, (Matrix){a + (size_t)i * a_row + p, a_row, 1}, rows, terms, NULL);
            if (!upper)
                multiply_block(amx, to, c_row, left, block, panel, rows, 0, columns, terms, start,
                               p > 0);
            for (int j = i; j < b.N && upper; j += TILE) /* a panel, down to the diagonal */
                multiply_block(amx, to, c_row, left, block, panel, min_int(rows, j + TILE - i), j,
                               min_int(j + TILE, b.N), terms, start, p > 0);
        }
    amx_end(amx);
}

static void multiply(const Thread *thread, float *c, size_t c_row, const float *a, size_t a_row,
                     Packed b, int M, int K, const float *bias, int columns) {
    multiply_part(thread, c, c_row, a, a_row, b, M, K, bias, columns, false);
}

static void multiply_upper(const Thread *thread, float *c, size_t c_row, const float *a,
                           size_t a_row, Packed b) {
    multiply_part(thread, c, c_row, a, a_row, b, b.N, b.K, NULL, 0, true);
}

static void accumulate(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew) {
    uint16_t *left = (uint16_t *)thread->left, *right = (uint16_t *)thread->right;
    Part own = team_part(thread, M, N, TILE, TILE);
    int end_row = own.row + own.rows, end = own.column + own.columns;
    bool amx = amx_begin(thread);
    if (sums && anew && own.column == 0 && own.columns > 0)
        memset(sums + own.row, 0, (size_t)own.rows * sizeof *sums);
    for (int j = own.column; j < end; j += MATMUL_COLUMNS)
        for (int p = 0; p < K; p += TERMS) {
            int columns = min_int(MATMUL_COLUMNS, end - j), terms = min_int(TERMS, K - p);
            size_t panel = panel_size(terms);
            for (int step = 0; step < steps_in(terms); step++) /* in the order of memory */
                for (int k = 0; k < panels_in(columns); k++)
                    pack_step(right + (size_t)k * panel, matrix_at(b, p, j), terms, columns, k,
                              step);
            for (int i = own.row; i < end_row; i += MATMUL_ROWS) {
                int rows = min_int(MATMUL_ROWS, end_row - i);
                pack_left(left, matrix_at(a, i, p), rows, terms, sums && j == 0 ? sums + i : NULL);
                multiply_block(amx, c + (size_t)i * c_row + (size_t)j, c_row, left, right, panel,
                               rows, 0, columns, terms, NULL, !anew || p > 0);
            }
        }
    amx_end(amx);
}

/* ---- the two tables ---- */

#define LOOPS                                                                         \
    .rounds = true, .packed_size = packed_floats, .pack = pack, .multiply = multiply, \
    .multiply_upper = multiply_upper, .accumulate = accumulate
const Products bf16_avx512 = {.name = "avx512_bf16", .attention = &float32_products, LOOPS};
const Products bf16_amx = {.name = "amx_bf16", .attention = &bf16_amx, .rows = TILE, LOOPS};
