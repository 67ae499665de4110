/* matmul.c - float32 products: packing, blocking and dividing between threads, written once.
 *
 * The right operand is copied ("packed") into panels of tile_columns columns and block_terms terms,
 * in the order in which the register tile reads them. A panel stays in the L1 cache while the rows
 * of the left operand pass by. The left operand is read in place, by broadcasts. If it is
 * transposed, each term would be on another cache line; so a strip of it is packed as well, unless
 * a block of it fits the L2 cache (multiply_panels). The plan is that of Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication" (2008).
 *
 * One thread sums each element of the result: one chain of multiply-adds, its terms in order,
 * through all blocks. So threads, tiles and blocks do not change a bit. */
#include "model/kernels/products.h"
#include "base/array.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 16,           /* floats in a cache line */
    FEW_TERMS = 24,      /* as many as the queries that attention takes at a time */
    IN_PLACE = 11000,    /* floats of two operands that stay in the L1 cache as they are */
    MOST_IN_L2 = 1 << 17 /* floats of a block of both operands that stay in the L2 cache */
};

static size_t packed_size(const Isa *isa, int K, int N) {
    return (size_t)K * whole_vectors(isa, N);
}

/* ---- packing ---- */

static int panels_in(const Isa *isa, int N) {
    return ceil_div_int(N, isa->tile_columns);
}

/* Packs panel number j of one block of terms of b[K,N], with zeros beyond N. */
static void pack_panel(const Isa *isa, float *block, Matrix b, int K, int N, int j) {
    int first = j * isa->tile_columns, columns = min_int(isa->tile_columns, N - first);
    size_t width = whole_vectors(isa, columns);
    float *panel = block + (size_t)first * (size_t)K;
    const float *from = b.at + (size_t)first * b.column_stride;
    assert(b.column_stride == 1 || b.row_stride == 1);
    if ((size_t)columns < width) memset(panel, 0, (size_t)K * width * sizeof *panel);
    if (b.column_stride != 1)
        isa->transpose(panel, width, from, b.column_stride, columns, K);
    else if (columns == isa->tile_columns)
        isa->copy_panels(panel, from, b.row_stride, K, columns);
    else
        isa->copy(panel, width, from, b.row_stride, K, columns);
}

/* Returns true if N columns lie in memory like one panel. */
static bool is_packed(const Isa *isa, Matrix b, int N) {
    return b.column_stride == 1 && b.row_stride == (size_t)N && N <= isa->tile_columns &&
           N % isa->lanes == 0;
}

/* Packs all panels of one block of terms of b[K,N]. Returns it. */
static const float *pack_block(const Isa *isa, float *block, Matrix b, int K, int N) {
    int whole = b.column_stride == 1 ? N / isa->tile_columns : 0;
    isa->copy_panels(block, b.at, b.row_stride, K, whole * isa->tile_columns);
    for (int j = whole; j < panels_in(isa, N); j++) pack_panel(isa, block, b, K, N, j);
    return block;
}

/* Panels are counted through all blocks. */
static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    const Isa *isa = thread->isa;
    int panels = panels_in(isa, N), blocks = ceil_div_int(K, isa->block_terms);
    Share own = team_share(thread, (size_t)panels * (size_t)blocks, 1);
    for (int i = (int)own.begin; i < (int)own.end; i++) {
        int p = i / panels * isa->block_terms;
        pack_panel(isa, packed + (size_t)p * whole_vectors(isa, N), matrix_at(b, p, 0),
                   min_int(isa->block_terms, K - p), N, i % panels);
    }
}

/* ---- products ---- */

/* Multiplies M rows by the panels of one block of terms, up to column N, panel outermost. `terms`,
 * the number of packed terms, and `widest`, that of packed columns, determine where a panel is;
 * only product.K terms count. */
static void multiply_block(const Isa *isa, Tile product, const float *block, int terms, int widest,
                           int M, int N) {
    Tile t = product;
    for (int j = 0; j < N; j += isa->tile_columns) {
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

static void multiply(const Thread *thread, float *c, size_t c_row, const float *a, size_t a_row,
                     Packed b, int M, int K, const float *bias, int columns) {
    const Isa *isa = thread->isa;
    size_t row = whole_vectors(isa, b.N);
    assert(K <= b.K && (size_t)columns <= row);
    for (int p = 0; p < K; p += isa->block_terms) {
        Tile product = {.c = c,
                        .c_row = c_row,
                        .a = {a + p, a_row, 1},
                        .start = p == 0 ? bias : c,
                        .start_row = p == 0 ? 0 : c_row,
                        .K = min_int(isa->block_terms, K - p)};
        multiply_block(isa, product, b.at + (size_t)p * row, min_int(isa->block_terms, b.K - p),
                       b.N, M, columns);
    }
}

/* A tile on the diagonal begins with the vector that has its first row's number. */
static void multiply_upper(const Thread *thread, float *c, size_t c_row, const float *a,
                           size_t a_row, Packed b) {
    const Isa *isa = thread->isa;
    for (int p = 0; p < b.K; p += isa->block_terms)
        for (int j = 0; j < b.N; j += isa->tile_columns) {
            int terms = min_int(isa->block_terms, b.K - p);
            int columns = min_int(isa->tile_columns, b.N - j);
            const float *panel =
                b.at + (size_t)p * whole_vectors(isa, b.N) + (size_t)j * (size_t)terms;
            Tile t = {.c = c + j,
                      .c_row = c_row,
                      .a = {a + p, a_row, 1},
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
                t.a.at = a + (size_t)i * a_row + p;
                t.b = panel + (first - j);
                t.start = p == 0 ? NULL : t.c;
                isa->panel(&t, min_int(isa->tile_rows, b.N - i), j + columns - first, NULL, NULL);
            }
        }
}

/* Multiplies the rows that this thread owns by a packed block. A strip of a transposed left operand
 * is packed first, and its rows added to sums. */
static void multiply_strips(const Thread *thread, Tile product, const float *block, int M, int N,
                            float *sums) {
    const Isa *isa = thread->isa;
    for (int i = 0; i < M; i += MATMUL_STRIP, tile_lower(&product, MATMUL_STRIP)) {
        int rows = min_int(MATMUL_STRIP, M - i);
        Tile t = product;
        if (t.a.row_stride == 1) {
            isa->copy(thread->left, MATMUL_STRIP, t.a.at, t.a.column_stride, t.K, rows);
            if (sums) isa->add_rows(sums + i, thread->left, MATMUL_STRIP, t.K, rows);
            t.a = (Matrix){thread->left, 1, MATMUL_STRIP};
        }
        multiply_block(isa, t, block, t.K, N, rows, N);
    }
}

/* Multiplies M rows of a transposed left operand in place, where a block of terms of it stays in
 * the L2 cache. Packs one panel of the right one after another to the same place, which stays in
 * the L1 cache. Meanwhile prefetches the next block of both operands, in turns. */
static void multiply_panels(const Thread *thread, Tile product, Matrix b, int M, int N, float *sums,
                            bool anew) {
    const Isa *isa = thread->isa;
    const int width = isa->tile_columns, calls = ceil_div_int(N, 2 * width);
    for (int p = 0; p < product.K; p += isa->block_terms) {
        Tile t = product;
        t.a = matrix_at(t.a, 0, p);
        t.b = thread->right;
        t.K = min_int(isa->block_terms, product.K - p);
        size_t terms = p + t.K < product.K ? (size_t)t.K : 0; /* the next block's, at most */
        const float *next[2] = {matrix_at(b, p + t.K, 0).at, matrix_at(t.a, 0, t.K).at};
        size_t part[2] = {terms * b.row_stride / (size_t)calls,
                          terms * t.a.column_stride / (size_t)calls};
        if (sums) isa->add_rows(sums, t.a.at, t.a.column_stride, t.K, M);
        for (int j = 0, which = 0; j < N; j += width, which = 1 - which) {
            int columns = min_int(width, N - j);
            const float *ahead = next[which];
            pack_panel(isa, thread->right, matrix_at(b, p, j), t.K, columns, 0);
            t.c = product.c + j;
            t.start = anew && p == 0 ? NULL : t.c;
            t.b_row = whole_vectors(isa, columns);
            next[which] += part[which];
            isa->panel(&t, M, columns, ahead, next[which]);
        }
    }
}

static void accumulate(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew) {
    assert(M >= 0 && N >= 0 && K > 0 && !(sums && a.row_stride != 1));
    const Isa *isa = thread->isa;
    Part own = team_part(thread, M, N, isa->tile_rows, isa->tile_columns);
    int end = own.column + own.columns;
    Tile product = {.c = c, .c_row = c_row, .a = a, .b = b.at, .b_row = b.row_stride, .K = K};
    product.start = anew ? NULL : c;
    product.start_row = c_row;
    tile_lower(&product, own.row);
    if (own.columns == 0 || own.column > 0) sums = NULL; /* another thread's */
    if (sums) sums += own.row;
    if (sums && anew) memset(sums, 0, (size_t)own.rows * sizeof *sums);
    bool small = K <= FEW_TERMS || K <= IN_PLACE / (own.rows + own.columns + 1);
    if (small && b.column_stride == 1 && own.column == 0 && N % isa->lanes == 0) {
        /* the operands fit the L1 cache as they are, and packing would take longer than multiplying
         */
        if (sums) isa->add_rows(sums, product.a.at, a.column_stride, K, own.rows);
        for (int j = 0; j < end; j += isa->tile_columns) {
            isa->panel(&product, own.rows, min_int(isa->tile_columns, end - j), NULL, NULL);
            product.c += isa->tile_columns;
            product.b += isa->tile_columns;
            if (product.start) product.start += isa->tile_columns;
        }
        return;
    }
    if (isa->lanes == LINE && a.row_stride == 1 && b.column_stride == 1 &&
        a.column_stride == (size_t)own.rows && b.row_stride == (size_t)own.columns &&
        own.rows + own.columns <= MOST_IN_L2 / isa->block_terms) {
        multiply_panels(thread, product, b, own.rows, own.columns, sums, anew);
        return;
    }
    for (int j = own.column; j < end && own.rows > 0; j += MATMUL_COLUMNS)
        for (int p = 0; p < K; p += isa->block_terms) {
            int columns = min_int(MATMUL_COLUMNS, end - j);
            Tile t = product;
            t.c += j;
            t.a = matrix_at(product.a, 0, p);
            t.start = anew && p == 0 ? NULL : t.c;
            t.K = min_int(isa->block_terms, K - p);
            Matrix right = matrix_at(b, p, j);
            const float *block = right.at;
            if (!is_packed(isa, right, columns))
                block = pack_block(isa, thread->right, right, t.K, columns);
            multiply_strips(thread, t, block, own.rows, columns, j == 0 ? sums : NULL);
        }
}

const Products float32_products = {.name = "float32",
                                   .attention = &float32_products,
                                   .packed_size = packed_size,
                                   .pack = pack,
                                   .multiply = multiply,
                                   .multiply_upper = multiply_upper,
                                   .accumulate = accumulate};
