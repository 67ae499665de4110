#include "model/muon.h"

#include <math.h>
#include <string.h>

enum { STEPS = 5 };

static size_t whole_lines(size_t floats) {
    return (floats + 15) / 16 * 16;
}

/* The shorter side first: the products are smaller so. */
typedef struct {
    int m, n;
    size_t mn, mm;
} Shape;

static Shape shape_of(int rows, int columns) {
    int m = rows < columns ? rows : columns, n = rows < columns ? columns : rows;
    return (Shape){m, n, whole_lines((size_t)m * (size_t)n), whole_lines((size_t)m * (size_t)m)};
}

static size_t packed_room(const Isa *isa, const Products *products, Shape s) {
    size_t turned = products->packed_size(isa, s.n, s.m);
    size_t plain = products->packed_size(isa, s.m, s.n);
    return turned > plain ? turned : plain; /* and a square one is smaller than both */
}

size_t muon_room(const Isa *isa, const Products *products, int rows, int columns) {
    Shape s = shape_of(rows, columns);
    return 2 * s.mn + 2 * s.mm + packed_room(isa, products, s);
}

double muon_work(int rows, int columns) {
    Shape s = shape_of(rows, columns);
    return STEPS * (double)s.m * s.m * (2.0 * s.n + s.m);
}

/* c[M,N] = a[M,K] b[K,N], one of whose strides is 1. */
static void multiply(const Kernels *k, float *c, const float *a, Matrix b, float *packed, int M,
                     int K, int N) {
    k->products->pack(k, packed, b, K, N);
    k->products->multiply(k, c, (size_t)N, (Matrix){a, (size_t)K, 1}, (Packed){packed, K, N}, M, K,
                          NULL, (Share){0, (size_t)N});
}

/* Brings x[m,n], of norm 1, close to the nearest matrix with orthogonal rows: with A = x x^T, x
 * becomes a x + (b A + c A A) x, which moves all its singular values to between 0.7 and 1.2 (the
 * coefficients are Jordan's). `work` has the rest of muon_room; returns where the result is. */
static float *orthogonalize(const Kernels *k, float *x, float *work, Shape s) {
    const float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    float *y = work, *square = y + s.mn, *fourth = square + s.mm, *packed = fourth + s.mm;
    size_t row = (size_t)s.n, side = (size_t)s.m;
    for (int i = 0; i < STEPS; i++) {
        multiply(k, square, x, (Matrix){x, 1, row}, packed, s.m, s.n, s.m);
        multiply(k, fourth, square, (Matrix){square, side, 1}, packed, s.m, s.m, s.m);
        k->isa->blend(fourth, c, square, b, side * side);
        multiply(k, y, fourth, (Matrix){x, row, 1}, packed, s.m, s.m, s.n);
        k->isa->blend(y, 1, x, a, side * row);
        float *kept = x;
        x = y;
        y = kept;
    }
    return x;
}

void muon_step(const Kernels *k, float *w, float *m, const float *g, int rows, int columns,
               Muon muon) {
    Kernels own = *k;
    own.thread = 0;
    own.threads = 1;
    own.together = false;
    Shape s = shape_of(rows, columns);
    size_t size = (size_t)rows * (size_t)columns, row = (size_t)columns, side = (size_t)rows;
    float *x = k->scratch, *y = x + s.mn;
    bool tall = rows > columns;
    k->isa->blend(m, muon.momentum, g, 1 - muon.momentum, size);
    memcpy(y, g, size * sizeof *y);
    k->isa->blend(y, 1 - muon.momentum, m, muon.momentum, size);
    if (tall)
        k->isa->transpose(x, side, y, row, rows, columns);
    else
        memcpy(x, y, size * sizeof *x);
    float norm = sqrtf(k->isa->dot(x, x, size));
    k->isa->blend(x, 1 / (norm + 1e-7f), x, 0, size);
    float *step = orthogonalize(&own, x, y, s);
    if (tall) {
        float *turned = step == x ? y : x;
        k->isa->transpose(turned, row, step, side, columns, rows);
        step = turned;
    }
    float scale = tall ? sqrtf((float)rows / (float)columns) : 1;
    k->isa->blend(w, 1 - muon.rate * muon.decay, step, -muon.rate * scale, size);
}
