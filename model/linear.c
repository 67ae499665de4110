/* linear.c - the fully connected layer: three products of matrices and a sum. */
#include "model/layers.h"

/* Forward, the right operand is w^T, [C,OC]; backward it is w, [OC,C]. */
size_t linear_packed_size(const Isa *isa, const Products *products, int C, int OC) {
    size_t forward = products->packed_size(isa, C, OC);
    size_t backward = products->packed_size(isa, OC, C);
    return forward > backward ? forward : backward;
}

void linear_pack(const Kernels *k, float *packed, const float *w, int C, int OC, bool backward) {
    if (backward)
        k->products->pack(k, packed, (Matrix){w, (size_t)C, 1}, OC, C);
    else
        k->products->pack(k, packed, (Matrix){w, 1, (size_t)C}, C, OC);
}

/* y[N,OC] = x[N,C] b + bias: a thread's own rows or, together, each a share of the columns. */
static void multiply_own(const Kernels *k, float *y, const float *x, const float *packed,
                         const float *bias, int N, int C, int OC) {
    Matrix rows = {x, (size_t)C, 1};
    Share columns = {0, (size_t)OC};
    if (k->together) columns = team_share(k, (size_t)OC, PRODUCT_GRAIN);
    k->products->multiply(k, y, (size_t)OC, rows, (Packed){packed, C, OC}, N, C, bias, columns);
    if (k->together) team_barrier(k);
}

void linear_forward(const Kernels *k, float *y, const float *x, Param w, Param b, int N, int C,
                    int OC) {
    multiply_own(k, y, x, w.packed, b.w, N, C, OC);
}

void linear_backward(const Kernels *k, float *dx, const float *dy, Param w, int N, int C, int OC) {
    multiply_own(k, dx, dy, w.packed, NULL, N, OC, C);
}

void linear_gradients(const Kernels *k, Param w, Param b, const float *dy, const float *x, int N,
                      int C, int OC) {
    Matrix turned = {dy, 1, (size_t)OC}, rows = {x, (size_t)C, 1};
    k->products->accumulate(k, w.dw, (size_t)C, turned, rows, OC, C, N, b.dw);
}
