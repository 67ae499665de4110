/* matmul.c - float32 products: packing, blocking and dividing between threads, written once.
 *
 * The right operand is copied ("packed") into panels of tile_columns columns and block_terms terms,
 * in the order in which the register tile reads them. A panel stays in the L1 cache while the rows
 * of the left operand pass by. The left operand is read in place, by broadcasts, also if it is
 * transposed: then each term is on another cache line, but a block of it stays in the L2 cache. The
 * plan is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008).
 *
 * One thread sums each element of the result: one chain of multiply-adds, its terms in order,
 * through all blocks. So neither the number of threads nor the size of a tile or a block changes a
 * bit. */
#include "model/kernels/products.h"
#include "base/array.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 16,       /* floats in a cache line */
    FEW_TERMS = 24,  /* as many as the queries that attention takes at a time */
    IN_PLACE = 11000 /* floats of two operands that stay in the L1 cache as they are */
};

static size_t packed_size(const Isa *isa, int K, int N) {
    return (size_t)K * whole_vectors(isa, N);
}

/* ---- packing ---- */

static int panels_in(const Isa *isa, int N) {
    return (N + isa->tile_columns - 1) / isa->tile_columns;
}

/* Packs panel number j of one block of terms of b[K,N], with zeros beyond N. */
static void pack_panel(const Isa *isa, float *block, Matrix b, int K, int N, int j) {
    int first = j * isa->tile_columns, columns = min_int(isa->tile_columns, N - first);
    size_t width = whole_vectors(isa, columns);
    float *panel = block + (size_t)first * (size_t)K;
    const float *from = b.at + (size_t)first * b.column;
    assert(b.column == 1 || b.row == 1);
    if ((size_t)columns < width) memset(panel, 0, (size_t)K * width * sizeof *panel);
    if (b.column != 1)
        isa->transpose(panel, width, from, b.column, columns, K);
    else
        isa->copy(panel, width, from, b.row, K, columns);
}

/* True if N columns lie in memory like one panel. */
static bool is_packed(const Isa *isa, Matrix b, int N) {
    return b.column == 1 && b.row == (size_t)N && N <= isa->tile_columns && N % isa->lanes == 0;
}

/* Panels are counted through all blocks. */
static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    const Isa *isa = thread->isa;
    int panels = panels_in(isa, N), blocks = (K + isa->block_terms - 1) / isa->block_terms;
    Share own = team_share(thread, (size_t)panels * (size_t)blocks, 1);
    for (int i = (int)own.begin; i < (int)own.end; i++) {
        int p = i / panels * isa->block_terms;
        pack_panel(isa, packed + (size_t)p * whole_vectors(isa, N), matrix_at(b, p, 0),
                   min_int(isa->block_terms, K - p), N, i % panels);
    }
}

/* ---- products ---- */

/* Multiplies M rows by the panels of one block of terms, from column `first` to N, panel outermost.
 * `terms`, the number of packed terms, and `widest`, that of packed columns, determine where a
 * panel is; only product.K terms count. */
static void multiply_block(const Isa *isa, Tile product, const float *block, int terms, int widest,
                           int M, int first, int N) {
    Tile t = product;
    for (int j = first; j < N; j += isa->tile_columns) {
        t.c = product.c + j;
        t.a.at = product.a.at;
        t.b = block + (size_t)j * (size_t)terms;
        t.b_row = whole_vectors(isa, min_int(isa->tile_columns, widest - j));
        t.start = product.start ? product.start + j : NULL;
        /* the first tiles prefetch the next panel */
        const float *next = t.b + (size_t)isa->tile_columns * (size_t)terms, *end = next;
        if (j + isa->tile_columns < N) end += t.b_row * (size_t)terms;
        isa->panel(&t, M, min_int(isa->tile_columns, N - j), next, end);
    }
}

static void multiply(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b, int M, int K,
                     const float *bias, Share columns) {
    const Isa *isa = thread->isa;
    size_t row = whole_vectors(isa, b.N);
    assert(K <= b.K && columns.end <= row);
    for (int p = 0; p < K; p += isa->block_terms) {
        Tile product = {.c = c,
                        .c_row = c_row,
                        .a = matrix_at(a, 0, p),
                        .start = p == 0 ? bias : c,
                        .start_row = p == 0 ? 0 : c_row,
                        .K = min_int(isa->block_terms, K - p)};
        multiply_block(isa, product, b.at + (size_t)p * row, min_int(isa->block_terms, b.K - p),
                       b.N, M, (int)columns.begin, (int)columns.end);
    }
}

/* A tile on the diagonal begins with the vector that has its first row's number. */
static void multiply_upper(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b) {
    const Isa *isa = thread->isa;
    for (int p = 0; p < b.K; p += isa->block_terms)
        for (int j = 0; j < b.N; j += isa->tile_columns) {
            int terms = min_int(isa->block_terms, b.K - p);
            int columns = min_int(isa->tile_columns, b.N - j);
            const float *panel =
                b.at + (size_t)p * whole_vectors(isa, b.N) + (size_t)j * (size_t)terms;
            Tile t = {.c = c + j,
                      .c_row = c_row,
                      .a = matrix_at(a, 0, p),
                      .b = panel,
                      .b_row = whole_vectors(isa, columns),
                      .start = p == 0 ? NULL : c + j,
                      .start_row = c_row,
                      .K = terms};
            int whole = 0; /* tiles that begin in row j or above */
            if (columns == isa->tile_columns)
                whole = min_int(j / isa->tile_rows + 1, b.N / isa->tile_rows);
            if (whole > 0) isa->panel(&t, whole * isa->tile_rows, columns, NULL, NULL);
            for (int i = whole * isa->tile_rows; i < j + columns; i += isa->tile_rows) {
                int first = i > j ? i / isa->lanes * isa->lanes : j;
                t.c = c + (size_t)i * c_row + first;
                t.a.at = matrix_at(a, i, p).at;
                t.b = panel + (first - j);
                t.start = p == 0 ? NULL : t.c;
                isa->panel(&t, min_int(isa->tile_rows, b.N - i), j + columns - first, NULL, NULL);
            }
        }
}

/* True if so many rows, `row` floats apart, lie in few sets of a cache and push each other out. */
static bool collide(int rows, size_t row) {
    return (size_t)rows * (row & -row) > 65536;
}

/* Multiplies M rows by columns `first` to `end` - 1 of one block of terms of b. Unless `in_place`,
 * packs one panel after another to the same place, which stays in the L1 cache. Meanwhile
 * prefetches what follows both operands in memory, in turns: the next block. */
static void multiply_panels(const Thread *thread, Tile t, Matrix b, int M, int first, int end,
                            bool in_place) {
    const Isa *isa = thread->isa;
    int width = isa->tile_columns, calls = (end - first + 2 * width - 1) / (2 * width);
    const float *next[2] = {b.at + (size_t)t.K * b.row, t.a.at + (size_t)t.K * t.a.column};
    float *c = t.c;
    size_t part[2] = {0, 0};
    if (!in_place && b.row == (size_t)(end - first)) part[0] = (size_t)t.K * b.row / (size_t)calls;
    if (!in_place && t.a.column == (size_t)M) part[1] = (size_t)t.K * (size_t)M / (size_t)calls;
    if (t.a.row == 1 && collide(t.K, t.a.column)) {
        isa->copy(thread->left, (size_t)M, t.a.at, t.a.column, t.K, M);
        t.a = (Matrix){thread->left, 1, (size_t)M};
    }
    for (int j = first, i = 0; j < end; j += width, i = 1 - i) {
        int columns = min_int(width, end - j);
        const float *ahead = next[i];
        Matrix right = matrix_at(b, 0, j);
        t.c = c + j;
        if (t.start) t.start = t.c;
        t.b = right.at;
        t.b_row = right.row;
        if (!in_place) {
            pack_panel(isa, thread->right, right, t.K, columns, 0);
            t.b = thread->right;
            t.b_row = whole_vectors(isa, columns);
        }
        next[i] += part[i];
        isa->panel(&t, M, columns, ahead, next[i]);
    }
}

static void accumulate(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew) {
    assert(M >= 0 && N >= 0 && K > 0 && !(sums && a.row != 1));
    const Isa *isa = thread->isa;
    Part own = team_part(thread, M, N, isa->tile_rows, isa->tile_columns);
    int end = own.column + own.columns;
    Tile product = {.c = c, .c_row = c_row, .a = a, .b = b.at, .b_row = b.row, .K = K};
    product.start = anew ? NULL : c;
    product.start_row = c_row;
    tile_lower(&product, own.row);
    if (own.columns == 0 || own.column > 0) sums = NULL; /* another thread's */
    if (sums) sums += own.row;
    if (sums && anew) memset(sums, 0, (size_t)own.rows * sizeof *sums);
    bool small = K <= FEW_TERMS || K <= IN_PLACE / (own.rows + own.columns + 1);
    bool in_place =
        is_packed(isa, b, N) || (small && b.column == 1 && own.column == 0 && N % isa->lanes == 0);
    const int most = MATMUL_LEFT / isa->block_terms;
    for (int i = 0; i < own.rows && own.columns > 0; i += most, tile_lower(&product, most))
        for (int p = 0; p < K; p += isa->block_terms) {
            int rows = min_int(most, own.rows - i);
            Tile t = product;
            t.a = matrix_at(product.a, 0, p);
            if (p > 0) t.start = t.c;
            t.K = min_int(isa->block_terms, K - p);
            if (sums) isa->add_rows(sums + i, t.a.at, t.a.column, t.K, rows);
            multiply_panels(thread, t, matrix_at(b, p, 0), rows, own.column, end, in_place);
        }
}

const Products float32_products = {.name = "float32",
                                   .attention = &float32_products,
                                   .packed_size = packed_size,
                                   .pack = pack,
                                   .multiply = multiply,
                                   .multiply_upper = multiply_upper,
                                   .accumulate = accumulate};
