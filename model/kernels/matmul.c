/* matmul.c - products of matrices: packing, blocking and sharing out, written once.
 *
 * The right operand is copied ("packed") into panels of tile_columns columns and block_terms
 * terms, in the order in which the register tile reads them: a panel stays in the first cache
 * while the rows of the left operand pass by. The left operand is read where it lies, by
 * broadcasts, unless it is turned, so that each term would be on a cache line of its own: then a
 * strip of it is packed as well. The plan is that of Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication" (2008).
 *
 * Every element of the result is summed by one thread, its terms in order, block by block: the
 * number of threads changes who computes a tile, never a bit of it. */
#include "model/kernels/matmul.h"
#include "model/kernels/kernels.h"

#include <assert.h>
#include <string.h>

enum { LINE = 16 }; /* floats in a cache line */

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static size_t whole_vectors(const Isa *isa, int columns) {
    size_t lanes = (size_t)isa->lanes;
    return ((size_t)columns + lanes - 1) / lanes * lanes;
}

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
    int first = j * isa->tile_columns, columns = smaller(isa->tile_columns, N - first);
    Matrix part = {b.at + (size_t)first * b.column, b.row, b.column};
    pack_panel(isa, block + (size_t)first * (size_t)K, whole_vectors(isa, columns), part, K,
               columns);
}

/* Packs the panels from number begin to end, counted through all blocks. */
static void pack_panels(const Isa *isa, float *packed, Matrix b, int K, int N, size_t begin,
                        size_t end) {
    size_t row = whole_vectors(isa, N), panels = (size_t)panels_in(isa, N);
    for (size_t i = begin; i < end; i++) {
        int p = (int)(i / panels) * isa->block_terms;
        Matrix part = {b.at + (size_t)p * b.row, b.row, b.column};
        pack_in_block(isa, packed + (size_t)p * row, part, smaller(isa->block_terms, K - p), N,
                      (int)(i % panels));
    }
}

/* How many panels all blocks have together. */
static size_t panels_of(const Isa *isa, int K, int N) {
    int blocks = (K + isa->block_terms - 1) / isa->block_terms;
    return (size_t)panels_in(isa, N) * (size_t)blocks;
}

static void pack(const Kernels *k, float *packed, Matrix b, int K, int N) {
    Share share = team_share(k, panels_of(k->isa, K, N), 1);
    pack_panels(k->isa, packed, b, K, N, share.begin, share.end);
}

/* The packed strip[K,MATMUL_STRIP] of a left operand that is turned; adds up its rows. */
static void pack_strip(const Isa *isa, float *strip, Matrix a, int K, int rows, float *sums) {
    isa->copy(strip, MATMUL_STRIP, a.at, a.column, K, rows);
    for (int p = 0; p < K && sums; p++) isa->add(sums, strip + p * MATMUL_STRIP, (size_t)rows);
}

/* ---- products ---- */

/* Rows against the panels of one block of terms, from column `first` to N, panel outermost. A
 * panel's place follows from `terms`, those that were packed; K of them count. */
static void multiply_block(const Isa *isa, float *c, size_t c_row, Matrix a, const float *block,
                           int terms, int widest, int M, int first, int N, int K, const float *bias,
                           bool accumulate) {
    for (int j = first; j < N; j += isa->tile_columns) {
        const float *panel = block + (size_t)j * (size_t)terms;
        size_t b_row = whole_vectors(isa, smaller(isa->tile_columns, widest - j));
        /* the first tiles fetch the next panel, a cache line for each of their terms */
        const float *next = panel + (size_t)isa->tile_columns * (size_t)terms, *end = next;
        if (j + isa->tile_columns < N) end += b_row * (size_t)terms;
        for (int i = 0; i < M; i += isa->tile_rows, next += (size_t)K * LINE)
            isa->tile(c + (size_t)i * c_row + j, c_row, a.at + (size_t)i * a.row, a.row, a.column,
                      panel, b_row, K, smaller(isa->tile_rows, M - i),
                      smaller(isa->tile_columns, N - j), bias ? bias + j : NULL, accumulate,
                      next < end ? next : NULL);
    }
}

static void multiply(const Kernels *k, float *c, size_t c_row, Matrix a, Packed b, int M, int K,
                     const float *bias, Share columns) {
    const Isa *isa = k->isa;
    size_t row = whole_vectors(isa, b.N);
    assert(K <= b.K && columns.end <= row);
    for (int p = 0; p < K; p += isa->block_terms) {
        Matrix left = {a.at + (size_t)p * a.column, a.row, a.column};
        multiply_block(isa, c, c_row, left, b.at + (size_t)p * row,
                       smaller(isa->block_terms, b.K - p), b.N, M, (int)columns.begin,
                       (int)columns.end, smaller(isa->block_terms, K - p), p == 0 ? bias : NULL,
                       p > 0);
    }
}

/* Rows of the result that are all this thread's, against one packed block. */
static void multiply_strips(const Kernels *k, float *c, size_t c_row, Matrix a, int M, int N, int K,
                            float *sums) {
    for (int i = 0; i < M; i += MATMUL_STRIP) {
        int rows = smaller(MATMUL_STRIP, M - i);
        Matrix left = {a.at + (size_t)i * a.row, a.row, a.column};
        if (a.row == 1) {
            pack_strip(k->isa, k->left, left, K, rows, sums ? sums + i : NULL);
            left = (Matrix){k->left, 1, MATMUL_STRIP};
        }
        multiply_block(k->isa, c + (size_t)i * c_row, c_row, left, k->right, K, N, rows, 0, N, K,
                       NULL, true);
    }
}

static void accumulate(const Kernels *k, float *c, size_t c_row, Matrix a, Matrix b, int M, int N,
                       int K, float *sums) {
    assert(M >= 0 && N >= 0 && K > 0 && !(sums && a.row != 1));
    const Isa *isa = k->isa;
    Part own = team_part(k, M, N, isa->tile_rows, isa->tile_columns);
    int end = own.column + own.columns;
    c += (size_t)own.row * c_row;
    a.at += (size_t)own.row * a.row;
    for (int j = own.column; j < end && own.rows > 0; j += MATMUL_COLUMNS)
        for (int p = 0; p < K; p += isa->block_terms) {
            int columns = smaller(MATMUL_COLUMNS, end - j);
            int terms = smaller(isa->block_terms, K - p);
            Matrix left = {a.at + (size_t)p * a.column, a.row, a.column};
            Matrix right = {b.at + (size_t)p * b.row + (size_t)j * b.column, b.row, b.column};
            for (int panel = 0; panel < panels_in(isa, columns); panel++)
                pack_in_block(isa, k->right, right, terms, columns, panel);
            /* whoever has the first columns adds up the rows of a */
            multiply_strips(k, c + j, c_row, left, own.rows, columns, terms,
                            sums && j == 0 ? sums + own.row : NULL);
        }
}

const Products float32_products = {.name = "float32",
                                   .attention = &float32_products,
                                   .packed_size = packed_size,
                                   .pack = pack,
                                   .multiply = multiply,
                                   .accumulate = accumulate};
