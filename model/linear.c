/* linear.c - the fully connected layer: three products of matrices and a sum. */
#include "model/layers.h"

void linear_forward(const Kernels *k, float *y, const float *x, const float *w, const float *b,
                    int N, int C, int OC) {
    Matrix rows = {x, (size_t)C, 1}, transposed = {w, 1, (size_t)C};
    matmul(k, y, (size_t)OC, rows, transposed, N, OC, C, b, false);
}

/* Threads share out the channels; each is summed in the order of the rows. */
static void add_rows(const Kernels *k, float *db, const float *dy, int N, int OC) {
    Share channels = team_share(k, (size_t)OC, 16);
    for (size_t n = 0; n < (size_t)N; n++)
        k->isa->add(db + channels.begin, dy + n * (size_t)OC + channels.begin,
                    channels.end - channels.begin);
    team_barrier(k);
}

void linear_backward(const Kernels *k, float *dx, float *dw, float *db, const float *dy,
                     const float *x, const float *w, int N, int C, int OC) {
    Matrix dy_rows = {dy, (size_t)OC, 1}, dy_columns = {dy, 1, (size_t)OC};
    Matrix x_rows = {x, (size_t)C, 1}, w_rows = {w, (size_t)C, 1};
    if (dx) matmul(k, dx, (size_t)C, dy_rows, w_rows, N, C, OC, NULL, false);
    matmul(k, dw, (size_t)C, dy_columns, x_rows, OC, C, N, NULL, true);
    if (db) add_rows(k, db, dy, N, OC);
}
