/* matmul.c - products of matrices: packing, blocking and threads, written once.
 *
 * The product is cut into blocks of BLOCK_N columns and BLOCK_K terms. For each, the right operand
 * is copied ("packed") into panels of tile_columns columns, in the order in which the register
 * tile reads them; then the threads share out the tiles of the result. The left operand is read
 * where it lies. The plan is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (2008), without their packing of the left operand: it is read by broadcasts,
 * which need no order.
 *
 * Every element of the result is summed by one thread, its terms in order, block by block: the
 * number of threads changes who computes a tile, never a bit of it. */
#include "model/kernels/matmul.h"
#include "model/kernels/kernels.h"

#include <assert.h>
#include <string.h>

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* panel[K,width] = b[K,columns], zeros beyond. */
static void pack_panel(float *panel, int width, Matrix b, int K, int columns) {
    if (columns < width) memset(panel, 0, (size_t)K * (size_t)width * sizeof *panel);
    if (b.column == 1) {
        for (int p = 0; p < K; p++)
            memcpy(panel + p * width, b.at + (size_t)p * b.row, (size_t)columns * sizeof *panel);
    } else {
        for (int j = 0; j < columns; j++)
            for (int p = 0; p < K; p++)
                panel[p * width + j] = b.at[(size_t)p * b.row + (size_t)j * b.column];
    }
}

/* The tiles of a stretch of rows, against all panels: panel outermost, so that it stays in the
 * first cache while the rows pass by. */
static void multiply_rows(const Kernels *k, float *c, size_t c_row, Matrix a, int rows, int N,
                          int K, const float *bias, bool accumulate) {
    const Isa *isa = k->isa;
    for (int j = 0; j < N; j += isa->tile_columns) {
        const float *panel = k->packed + (size_t)j * (size_t)K;
        for (int i = 0; i < rows; i += isa->tile_rows)
            isa->tile(c + (size_t)i * c_row + j, c_row, a.at + (size_t)i * a.row, a.row, a.column,
                      panel, K, smaller(isa->tile_rows, rows - i),
                      smaller(isa->tile_columns, N - j), bias ? bias + j : NULL, accumulate);
    }
}

/* One block: all M rows, at most BLOCK_N columns, at most BLOCK_K terms. */
static void multiply_block(const Kernels *k, float *c, size_t c_row, Matrix a, Matrix b, int M,
                           int N, int K, const float *bias, bool accumulate) {
    int width = k->isa->tile_columns, height = k->isa->tile_rows;
    Share panels = team_share(k, (size_t)((N + width - 1) / width), 1);
    for (int panel = (int)panels.begin; panel < (int)panels.end; panel++) {
        int j = panel * width;
        Matrix columns = {b.at + (size_t)j * b.column, b.row, b.column};
        pack_panel(k->packed + (size_t)j * (size_t)K, width, columns, K, smaller(width, N - j));
    }
    team_barrier(k);
    /* As even a share of the rows as whole tiles allow, in stretches that fit the cache. */
    Share rows = team_share(k, (size_t)M, (size_t)height);
    for (int i = (int)rows.begin; i < (int)rows.end; i += BLOCK_M) {
        Matrix left = {a.at + (size_t)i * a.row, a.row, a.column};
        multiply_rows(k, c + (size_t)i * c_row, c_row, left, smaller(BLOCK_M, (int)rows.end - i), N,
                      K, bias, accumulate);
    }
    team_barrier(k); /* before anybody packs over these panels */
}

/* So few rows that packing would cost more than the product: each row against the columns of b as
 * they lie, which for weights stored (out, in) is one dot product after another. */
static void multiply_few(const Kernels *k, float *c, size_t c_row, Matrix a, Matrix b, int M, int N,
                         int K, const float *bias) {
    Share columns = team_share(k, (size_t)N, 16);
    size_t j = columns.begin, width = columns.end - j;
    for (size_t i = 0; i < (size_t)M; i++) {
        float *y = c + i * c_row + j;
        k->isa->dots(y, a.at + i * a.row, b.at + j * b.column, b.column, (int)width, K);
        if (bias) k->isa->add(y, bias + j, width);
    }
    team_barrier(k);
}

void matmul(const Kernels *k, float *c, size_t c_row, Matrix a, Matrix b, int M, int N, int K,
            const float *bias, bool accumulate) {
    enum { FEW_ROWS = 4 };
    assert(M >= 0 && N >= 0 && K > 0 && !(bias && accumulate));
    if (M <= FEW_ROWS && a.column == 1 && b.row == 1 && !accumulate) {
        multiply_few(k, c, c_row, a, b, M, N, K, bias);
        return;
    }
    for (int j = 0; j < N; j += BLOCK_N)
        for (int p = 0; p < K; p += BLOCK_K) {
            Matrix left = {a.at + (size_t)p * a.column, a.row, a.column};
            Matrix right = {b.at + (size_t)p * b.row + (size_t)j * b.column, b.row, b.column};
            multiply_block(k, c + j, c_row, left, right, M, smaller(BLOCK_N, N - j),
                           smaller(BLOCK_K, K - p), bias && p == 0 ? bias + j : NULL,
                           accumulate || p > 0);
        }
}
