/* tile.h - the register tile: rows times columns of a product in registers. */
#ifndef TRIL_MODEL_KERNELS_ISA_TILE_H
#define TRIL_MODEL_KERNELS_ISA_TILE_H

#include "model/kernels/isa/vectors.h"

enum {
    TALL_ROWS = 2 * TILE_ROWS, /* rows of a tile of half the columns: it has as many sums */
    THREES = (TALL_ROWS + 2) / 3,
    PANEL = 8192, /* floats of a panel that fit the L1 cache with a strip of the left operand */
    BLOCK_TERMS = PANEL / TILE_COLUMNS < MATMUL_TERMS ? PANEL / TILE_COLUMNS : MATMUL_TERMS
};

/* Adds one term to the sums. One pointer serves three rows of a, because registers are few. */
INLINE void add_term(const int rows, const int vectors, Vector sum[TALL_ROWS][TILE_VECTORS],
                     const float *const *threes, size_t term, size_t a_row, const float *b) {
    Vector row[TILE_VECTORS];
    EACH(j, vectors) row[j] = load(b + j * LANES);
    EACH(i, rows) {
        Vector value = all(threes[i / 3][i % 3 * a_row + term]);
        EACH(j, vectors) sum[i][j] = multiply_add(value, row[j], sum[i][j]);
    }
}

/* The sums start from t.start, so a long sum is one chain however it is cut into blocks. With each
 * 1 or 2 `terms` prefetches a row of c that the next tile needs and, unless `ahead` is NULL, the
 * next cache line from there on. All rows of c at once would be more lines than the L1 cache can
 * await, and the next loads would wait for them, too. */
INLINE void tile_of(const int rows, const int vectors, const int terms, Tile t, size_t columns,
                    const float *ahead) {
    static const float zeros[TILE_COLUMNS] = {0};
    const float *threes[THREES];
    const size_t last = (size_t)vectors - 1;
    Vector sum[TALL_ROWS][TILE_VECTORS];
    size_t rest = columns - last * LANES; /* columns in the last vector */
    EACH(i, (rows + 2) / 3) threes[i] = t.a.at + 3 * i * t.a.row_stride;
    EACH(i, rows) {
        const float *from = t.start ? t.start + i * t.start_row : zeros;
        EACH(j, last) sum[i][j] = load(from + j * LANES);
        sum[i][last] = load_some(from + last * LANES, rest, 0);
    }
    for (int p = 0; p < t.K / terms; p++) {
        EACH(i, terms)
        add_term(rows, vectors, sum, threes, i * t.a.column_stride, t.a.row_stride,
                 t.b + i * t.b_row);
        if (p < rows) {
            const float *below = t.c + (size_t)(rows + p) * t.c_row;
            EACH(j, (vectors * LANES + LINE - 1) / LINE) __builtin_prefetch(below + j * LINE, 1);
        }
        if (ahead) __builtin_prefetch(ahead + p * LINE, 0, 2);
        EACH(i, (rows + 2) / 3) threes[i] += (size_t)terms * t.a.column_stride;
        t.b += (size_t)terms * t.b_row;
    }
    if (terms > 1 && t.K % 2) add_term(rows, vectors, sum, threes, 0, t.a.row_stride, t.b);
    EACH(i, rows) {
        float *to = t.c + i * t.c_row;
        EACH(j, last) store(to + j * LANES, sum[i][j]);
        store_some(to + last * LANES, rest, sum[i][last]);
    }
}

/* Computes `count` whole tiles, one below the other. */
INLINE void tiles_of(Tile t, int count, const float *ahead, const float *end) {
    for (; count > 0; count--, tile_lower(&t, TILE_ROWS)) {
        if (ahead < end) {
            tile_of(TILE_ROWS, TILE_VECTORS, 2, t, TILE_COLUMNS, ahead);
            ahead += t.K / 2 * LINE;
        } else {
            tile_of(TILE_ROWS, TILE_VECTORS, 2, t, TILE_COLUMNS, NULL);
        }
    }
}

/* Computes those of a packed panel. One stride of a is 1: each branch makes that a compile-time
 * constant (t.a.column_stride = 1 under `== 1`), for which the compiler specializes tiles_of. */
INLINE void whole_tiles(Tile t, int count, const float *ahead, const float *end) {
    t.b_row = TILE_COLUMNS;
    if (t.a.column_stride == 1) {
        t.a.column_stride = 1;
        tiles_of(t, count, ahead, end);
    } else {
        t.a.row_stride = 1;
        tiles_of(t, count, ahead, end);
    }
}

/* Computes a tile whose rows and columns are not known at compile time: as many rows as some_rows
 * gives or, of at most half a panel's columns, TALL_ROWS. */
static void tile(const Tile *t, int rows, int columns, const float *ahead) {
    /* clang-format off */
#define TILE(m, n) case (m) * 8 + (n): \
        if ((n) <= ((m) <= TILE_ROWS ? TILE_VECTORS : (m) == TALL_ROWS ? TILE_VECTORS / 2 : 0)) \
            tile_of(m, n, 1, *t, (size_t)columns, (m) == TALL_ROWS ? NULL : ahead); \
        break;
#define TILES(m) TILE(m, 1) TILE(m, 2) TILE(m, 3) TILE(m, 4)
    switch (rows * 8 + (columns + LANES - 1) / LANES) {
        TILES(1) TILES(2) TILES(4) TILES(6) TILES(8) TILES(12)
    }
    /* clang-format on */
}

static void panel(const Tile *at, int rows, int columns, const float *ahead, const float *end) {
    Tile t = *at;
    const int most = columns <= TILE_COLUMNS / 2 ? TALL_ROWS : TILE_ROWS;
    int done = 0;
    if (columns == TILE_COLUMNS && t.b_row == TILE_COLUMNS) {
        done = rows / TILE_ROWS * TILE_ROWS;
        whole_tiles(t, rows / TILE_ROWS, ahead, end);
        tile_lower(&t, done);
    }
    if (rows >= most) ahead = end;
    for (int some; done < rows; done += some, tile_lower(&t, some)) {
        some = rows - done >= most ? most : some_rows(TILE_ROWS, rows - done);
        tile(&t, some, columns, ahead < end ? ahead : NULL);
        if (ahead < end) ahead += t.K * LINE;
    }
}

#endif
