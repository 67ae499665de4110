/* linear.c - the fully connected layer: three products of matrices and a sum. */
#include "model/layers.h"

void linear_forward(const Kernels *k, float *y, const float *x, const float *w, const float *b,
                    int N, int C, int OC) {
    Matrix rows = {x, (size_t)C, 1}, transposed = {w, 1, (size_t)C};
    matmul(k, y, (size_t)OC, rows, transposed, N, OC, C, b, false);
}

static void add_rows(const Kernels *k, float *db, const float *dy, int N, int OC) {
    enum { CHUNK = 64 }; /* channels that one thread sums, in the order of the rows */
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *(size_t)OC))
    for (int c = 0; c < OC; c += CHUNK)
        for (int n = 0; n < N; n++)
            k->isa->add(db + c, dy + (size_t)n * (size_t)OC + c,
                        (size_t)(OC - c < CHUNK ? OC - c : CHUNK));
}

void linear_backward(const Kernels *k, float *dx, float *dw, float *db, const float *dy,
                     const float *x, const float *w, int N, int C, int OC) {
    Matrix dy_rows = {dy, (size_t)OC, 1}, dy_columns = {dy, 1, (size_t)OC};
    Matrix x_rows = {x, (size_t)C, 1}, w_rows = {w, (size_t)C, 1};
    if (dx) matmul(k, dx, (size_t)C, dy_rows, w_rows, N, C, OC, NULL, false);
    matmul(k, dw, (size_t)C, dy_columns, x_rows, OC, C, N, NULL, true);
    if (db) add_rows(k, db, dy, N, OC);
}
