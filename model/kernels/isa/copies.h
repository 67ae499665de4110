/* copies.h - copies of matrices: transposed, with sums, in panels. */
#ifndef TRIL_MODEL_KERNELS_ISA_COPIES_H
#define TRIL_MODEL_KERNELS_ISA_COPIES_H

#include "model/kernels/isa/vectors.h"

static inline void transpose_square(float *to, size_t to_row, const float *from, size_t from_row) {
    Vector row[LANES];
    EACH(i, LANES) row[i] = load(from + i * from_row);
    transpose_lanes(row);
    EACH(i, LANES) store(to + i * to_row, row[i]);
}

static void transpose(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                      int columns) {
    int whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (int i = 0; i < whole_rows; i += LANES)
        for (int j = 0; j < whole_columns; j += LANES) {
            const float *square = from + (size_t)i * from_row + (size_t)j;
            /* the rows below, which the hardware does not predict */
            EACH(k, LANES) __builtin_prefetch(square + (LANES + k) * from_row);
            transpose_square(to + (size_t)j * to_row + (size_t)i, to_row, square, from_row);
        }
    for (int i = 0; i < rows; i++)
        for (int j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[(size_t)j * to_row + (size_t)i] = from[(size_t)i * from_row + (size_t)j];
}

/* The distance of prefetches, in rows: the hardware does not predict the jump to the next row. */
enum { ROWS_AHEAD = 12, SUM_VECTORS = 4 };

static void copy(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                 int columns) {
    for (int i = 0; i < rows; i++, to += to_row, from += from_row) {
        int j = 0;
        for (; j + LINE <= columns; j += LINE) {
            __builtin_prefetch(from + ROWS_AHEAD * from_row + j);
            EACH(k, LINE / LANES) store(to + j + k * LANES, load(from + j + k * LANES));
        }
        for (; j < columns; j += LANES) {
            size_t left = (size_t)(columns - j);
            store_some(to + j, left, load_some(from + j, left, 0));
        }
    }
}

/* Adds the first `vectors` vectors of every row to sums; of the last vector only `last` numbers. */
INLINE void add_rows_of(const int vectors, float *sums, const float *x, size_t row, int rows,
                        size_t last) {
    Vector sum[SUM_VECTORS];
    EACH(k, vectors - 1) sum[k] = load(sums + k * LANES);
    sum[vectors - 1] = load_some(sums + (vectors - 1) * LANES, last, 0);
    for (int i = 0; i < rows; i++, x += row) {
        EACH(k, vectors - 1) sum[k] += load(x + k * LANES);
        sum[vectors - 1] += load_some(x + (vectors - 1) * LANES, last, 0);
    }
    EACH(k, vectors - 1) store(sums + k * LANES, sum[k]);
    store_some(sums + (vectors - 1) * LANES, last, sum[vectors - 1]);
}

static void add_rows(float *sums, const float *x, size_t row, int rows, int columns) {
    int j = 0;
    for (; j + SUM_VECTORS * LANES <= columns; j += SUM_VECTORS * LANES)
        add_rows_of(SUM_VECTORS, sums + j, x + j, row, rows, LANES);
    for (; j < columns; j += LANES)
        add_rows_of(1, sums + j, x + j, row, rows, (size_t)(columns - j));
}

/* Copies `rows` rows, one panel of the result after another. */
INLINE void copy_rows(const int rows, float *to, size_t panel, const float *from, size_t from_row,
                      int columns) {
    enum { AHEAD = 4 };
    for (int j = 0; j < columns; j += TILE_COLUMNS, to += panel, from += TILE_COLUMNS)
        EACH(i, rows) EACH(k, TILE_VECTORS) {
            const float *at = from + i * from_row + k * LANES;
            if (k * LANES % LINE == 0) __builtin_prefetch(at + AHEAD * from_row);
            store(to + i * TILE_COLUMNS + k * LANES, load(at));
        }
}

/* The same row of all panels often lies in one set of the L1 cache, which holds 8 or 12 lines. So
 * several rows are copied together; otherwise the lines would leave the cache before the next rows
 * are written. Each row is read from start to end: the hardware prefetches that. */
static void copy_panels(float *to, const float *from, size_t from_row, int rows, int columns) {
    enum { SOME = 8 };
    size_t panel = (size_t)rows * TILE_COLUMNS;
    int i = 0;
    for (; i + SOME <= rows; i += SOME, from += SOME * from_row, to += SOME * TILE_COLUMNS)
        copy_rows(SOME, to, panel, from, from_row, columns);
    for (; i < rows; i++, from += from_row, to += TILE_COLUMNS)
        copy_rows(1, to, panel, from, from_row, columns);
}

#endif
