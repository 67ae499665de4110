/* matmul.c - matrix products: packing, blocking and dividing between threads, written once.
 *
 * The right operand is copied ("packed") into panels of tile_columns columns and block_terms terms,
 * in the order in which the register tile reads them. A panel stays in the L1 cache while the rows
 * of the left operand pass by. The left operand is read in place, by broadcasts. If it is
 * transposed, each term would be on another cache line; so a strip of it is packed as well. The
 * plan is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008).
 *
 * One thread sums each element of the result: one chain of multiply-adds, its terms in order,
 * through all blocks. So neither the number of threads nor the size of a tile or a block changes a
 * bit. */
#include "model/kernels/matmul.h"
#include "base/array.h"
#include "model/kernels/kernels.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 16,     /* floats in a cache line */
    FEW_TERMS = 24 /* as many as the queries that attention takes at a time */
};

static size_t packed_size(const Isa *isa, int K, int N) {
    return (size_t)K * whole_vectors(isa, N);
}

/* ---- packing ---- */

/* panel[K,width] = b[K,columns], zeros beyond. */
static void pack_panel(const Isa *isa, float *panel, size_t width, Matrix b, int K, int columns) {
    if ((size_t)columns < width) memset(panel, 0, (size_t)K * width * sizeof *panel);
    if (b.column == 1) {
        isa->copy(panel, width, b.at, b.row, K, columns);
    } else {
        assert(b.row == 1);
        isa->transpose(panel, width, b.at, b.column, columns, K);
    }
}

static int panels_in(const Isa *isa, int N) {
    return (N + isa->tile_columns - 1) / isa->tile_columns;
}

/* Packs panel number j of one block of terms of b[K,N]. */
static void pack_in_block(const Isa *isa, float *block, Matrix b, int K, int N, int j) {
    int first = j * isa->tile_columns, columns = min_int(isa->tile_columns, N - first);
    Matrix part = {b.at + (size_t)first * b.column, b.row, b.column};
    pack_panel(isa, block + (size_t)first * (size_t)K, whole_vectors(isa, columns), part, K,
               columns);
}

/* Packs all panels of one block of terms of b[K,N]. */
static void pack_block(const Isa *isa, float *block, Matrix b, int K, int N) {
    int whole = b.column == 1 ? N / isa->tile_columns : 0;
    isa->copy_panels(block, b.at, b.row, K, whole * isa->tile_columns);
    for (int j = whole; j < panels_in(isa, N); j++) pack_in_block(isa, block, b, K, N, j);
}

/* Packs panels begin <= number < end, counted through all blocks. */
static void pack_panels(const Isa *isa, float *packed, Matrix b, int K, int N, size_t begin,
                        size_t end) {
    size_t row = whole_vectors(isa, N), panels = (size_t)panels_in(isa, N);
    for (size_t i = begin; i < end; i++) {
        int p = (int)(i / panels) * isa->block_terms;
        Matrix part = {b.at + (size_t)p * b.row, b.row, b.column};
        pack_in_block(isa, packed + (size_t)p * row, part, min_int(isa->block_terms, K - p), N,
                      (int)(i % panels));
    }
}

/* The number of panels in all blocks. */
static size_t panels_of(const Isa *isa, int K, int N) {
    int blocks = (K + isa->block_terms - 1) / isa->block_terms;
    return (size_t)panels_in(isa, N) * (size_t)blocks;
}

static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    Share share = team_share(thread, panels_of(thread->isa, K, N), 1);
    pack_panels(thread->isa, packed, b, K, N, share.begin, share.end);
}

/* Packs strip[K,MATMUL_STRIP] of a transposed left operand, and adds its rows to sums. */
static void pack_strip(const Isa *isa, float *strip, Matrix a, int K, int rows, float *sums) {
    if (sums)
        isa->copy_and_sum(strip, MATMUL_STRIP, a.at, a.column, K, rows, sums);
    else
        isa->copy(strip, MATMUL_STRIP, a.at, a.column, K, rows);
}

/* ---- products ---- */

/* Multiplies rows by the panels of one block of terms, from column `first` to N, panel outermost.
 * `terms`, the number of packed terms, determines where a panel is; only K of them count. The sums
 * start from `start`, whose rows are start_row floats apart; NULL: from 0. */
static void multiply_block(const Isa *isa, float *c, size_t c_row, Matrix a, const float *block,
                           int terms, int widest, int M, int first, int N, int K,
                           const float *start, size_t start_row) {
    for (int j = first; j < N; j += isa->tile_columns) {
        const float *panel = block + (size_t)j * (size_t)terms;
        size_t b_row = whole_vectors(isa, min_int(isa->tile_columns, widest - j));
        /* the first tiles prefetch the next panel */
        const float *next = panel + (size_t)isa->tile_columns * (size_t)terms, *end = next;
        if (j + isa->tile_columns < N) end += b_row * (size_t)terms;
        int whole = N - j < isa->tile_columns ? 0 : M / isa->tile_rows;
        if (whole > 0) {
            isa->tiles(c + j, c_row, a.at, a.row, a.column, panel, K, whole,
                       start ? start + j : NULL, start_row, next, end);
            next = end;
        }
        for (int i = whole * isa->tile_rows; i < M; i += isa->tile_rows, next += (size_t)K * LINE)
            isa->tile(c + (size_t)i * c_row + j, c_row, a.at + (size_t)i * a.row, a.row, a.column,
                      panel, b_row, K, min_int(isa->tile_rows, M - i),
                      min_int(isa->tile_columns, N - j),
                      start ? start + (size_t)i * start_row + j : NULL, start_row,
                      next < end ? next : NULL);
    }
}

static void multiply(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b, int M, int K,
                     const float *bias, Share columns) {
    const Isa *isa = thread->isa;
    size_t row = whole_vectors(isa, b.N);
    assert(K <= b.K && columns.end <= row);
    for (int p = 0; p < K; p += isa->block_terms) {
        Matrix left = {a.at + (size_t)p * a.column, a.row, a.column};
        multiply_block(isa, c, c_row, left, b.at + (size_t)p * row,
                       min_int(isa->block_terms, b.K - p), b.N, M, (int)columns.begin,
                       (int)columns.end, min_int(isa->block_terms, K - p), p == 0 ? bias : c,
                       p == 0 ? 0 : c_row);
    }
}

/* A tile on the diagonal begins with the vector that has its first row's number. */
static void multiply_upper(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b) {
    const Isa *isa = thread->isa;
    for (int p = 0; p < b.K; p += isa->block_terms)
        for (int j = 0; j < b.N; j += isa->tile_columns) {
            int terms = min_int(isa->block_terms, b.K - p),
                end = min_int(j + isa->tile_columns, b.N);
            size_t b_row = whole_vectors(isa, end - j);
            const float *panel =
                b.at + (size_t)p * whole_vectors(isa, b.N) + (size_t)j * (size_t)terms;
            int whole = 0; /* tiles that begin in row j or above */
            if (end - j == isa->tile_columns)
                whole = min_int(j / isa->tile_rows + 1, b.N / isa->tile_rows);
            if (whole > 0)
                isa->tiles(c + j, c_row, a.at + p, a.row, 1, panel, terms, whole,
                           p == 0 ? NULL : c + j, c_row, NULL, NULL);
            for (int i = whole * isa->tile_rows; i < end; i += isa->tile_rows) {
                int first = i > j ? i / isa->lanes * isa->lanes : j;
                float *to = c + (size_t)i * c_row + first;
                isa->tile(to, c_row, a.at + (size_t)i * a.row + p, a.row, 1, panel + (first - j),
                          b_row, terms, min_int(isa->tile_rows, b.N - i), end - first,
                          p == 0 ? NULL : to, c_row, NULL);
            }
        }
}

/* Multiplies the rows that this thread owns by one packed block, and adds to c or, if `anew`, to
 * 0. */
static void multiply_strips(const Thread *thread, float *c, size_t c_row, Matrix a, int M, int N,
                            int K, float *sums, bool anew) {
    for (int i = 0; i < M; i += MATMUL_STRIP) {
        int rows = min_int(MATMUL_STRIP, M - i);
        Matrix left = {a.at + (size_t)i * a.row, a.row, a.column};
        float *to = c + (size_t)i * c_row;
        if (a.row == 1) {
            pack_strip(thread->isa, thread->left, left, K, rows, sums ? sums + i : NULL);
            left = (Matrix){thread->left, 1, MATMUL_STRIP};
        }
        multiply_block(thread->isa, to, c_row, left, thread->right, K, N, rows, 0, N, K,
                       anew ? NULL : to, c_row);
    }
}

/* The same with few terms, as in attention: the operands fit the L1 cache as they are, and packing
 * them would take longer than multiplying. */
static void accumulate_few(const Isa *isa, float *c, size_t c_row, Matrix a, Matrix b, Part own,
                           int K, bool anew) {
    for (int j = 0; j < own.columns; j += isa->tile_columns)
        for (int i = 0; i < own.rows; i += isa->tile_rows) {
            float *to = c + (size_t)i * c_row + j;
            isa->tile(to, c_row, a.at + (size_t)i * a.row, a.row, a.column, b.at + j, b.row, K,
                      min_int(isa->tile_rows, own.rows - i),
                      min_int(isa->tile_columns, own.columns - j), anew ? NULL : to, c_row, NULL);
        }
}

static void accumulate(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew) {
    assert(M >= 0 && N >= 0 && K > 0 && !(sums && a.row != 1));
    const Isa *isa = thread->isa;
    Part own = team_part(thread, M, N, isa->tile_rows, isa->tile_columns);
    int end = own.column + own.columns;
    c += (size_t)own.row * c_row;
    a.at += (size_t)own.row * a.row;
    if (K <= FEW_TERMS && !sums && b.column == 1 && own.column == 0 && N % isa->lanes == 0) {
        accumulate_few(isa, c, c_row, a, b, own, K, anew);
        return;
    }
    if (sums && anew && own.column == 0 && own.columns > 0)
        memset(sums + own.row, 0, (size_t)own.rows * sizeof *sums);
    for (int j = own.column; j < end && own.rows > 0; j += MATMUL_COLUMNS)
        for (int p = 0; p < K; p += isa->block_terms) {
            int columns = min_int(MATMUL_COLUMNS, end - j);
            int terms = min_int(isa->block_terms, K - p);
            Matrix left = {a.at + (size_t)p * a.column, a.row, a.column};
            Matrix right = {b.at + (size_t)p * b.row + (size_t)j * b.column, b.row, b.column};
            pack_block(isa, thread->right, right, terms, columns);
            /* the thread with the first columns sums the rows of a */
            multiply_strips(thread, c + j, c_row, left, own.rows, columns, terms,
                            sums && j == 0 ? sums + own.row : NULL, anew && p == 0);
        }
}

const Products float32_products = {.name = "float32",
                                   .attention = &float32_products,
                                   .packed_size = packed_size,
                                   .pack = pack,
                                   .multiply = multiply,
                                   .multiply_upper = multiply_upper,
                                   .accumulate = accumulate};
