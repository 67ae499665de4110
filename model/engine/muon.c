#include "model/engine/muon.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { STEPS = 5 };

/* m <= n: with the shorter side first the products are smaller. */
typedef struct {
    int m, n;
    size_t mn, mm;
} Shape;

static Shape shape_of(int rows, int columns) {
    int m = rows < columns ? rows : columns, n = rows < columns ? columns : rows;
    return (Shape){m, n, memory_lines((size_t)m * (size_t)n), memory_lines((size_t)m * (size_t)m)};
}

static size_t packed_size(const Isa *isa, const Products *products, Shape s) {
    size_t transposed = products->packed_size(isa, s.n, s.m);
    size_t plain = products->packed_size(isa, s.m, s.n);
    return transposed > plain ? transposed : plain; /* a square one is smaller than both */
}

size_t muon_scratch(const Isa *isa, const Products *products, int rows, int columns) {
    Shape s = shape_of(rows, columns);
    return 2 * s.mn + 2 * s.mm + packed_size(isa, products, s);
}

double muon_work(int rows, int columns) {
    Shape s = shape_of(rows, columns);
    return STEPS * (double)s.m * s.m * (2.0 * s.n + s.m);
}

/* c[M,N] = a[M,K] b[K,N]; one of b's strides is 1. */
static void multiply(const Thread *thread, float *c, const float *a, Matrix b, float *packed, int M,
                     int K, int N) {
    thread->products->pack(thread, packed, b, K, N);
    thread->products->multiply(thread, c, (size_t)N, (Matrix){a, (size_t)K, 1},
                               (Packed){packed, K, N}, M, K, NULL, (Share){0, (size_t)N});
}

/* Moves x[m,n], of norm 1, close to the nearest matrix with orthogonal rows. Each step, with A = x
 * x^T, replaces x by a x + (b A + c A A) x; in the end all singular values are between 0.7 and 1.2
 * (the coefficients are Jordan's). `work` is the rest of muon_scratch. Returns a pointer to the
 * result. */
static float *orthogonalize(const Thread *thread, float *x, float *work, Shape s) {
    const float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    float *y = work, *square = y + s.mn, *fourth = square + s.mm, *packed = fourth + s.mm;
    size_t row = (size_t)s.n, side = (size_t)s.m;
    for (int i = 0; i < STEPS; i++) {
        multiply(thread, square, x, (Matrix){x, 1, row}, packed, s.m, s.n, s.m);
        multiply(thread, fourth, square, (Matrix){square, side, 1}, packed, s.m, s.m, s.m);
        thread->isa->axpby(fourth, c, square, b, side * side);
        multiply(thread, y, fourth, (Matrix){x, row, 1}, packed, s.m, s.m, s.n);
        thread->isa->axpby(y, 1, x, a, side * row);
        float *kept = x;
        x = y;
        y = kept;
    }
    return x;
}

void muon_step(const Thread *thread, float *w, float *m, const float *g, int rows, int columns,
               Muon muon) {
    Thread own = *thread;
    own.index = 0;
    own.count = 1;
    Shape s = shape_of(rows, columns);
    size_t size = (size_t)rows * (size_t)columns, row = (size_t)columns, side = (size_t)rows;
    float *x = thread->scratch, *y = x + s.mn;
    bool tall = rows > columns;
    thread->isa->axpby(m, muon.momentum, g, 1 - muon.momentum, size);
    memcpy(y, g, size * sizeof *y);
    thread->isa->axpby(y, 1 - muon.momentum, m, muon.momentum, size);
    if (tall)
        thread->isa->transpose(x, side, y, row, rows, columns);
    else
        memcpy(x, y, size * sizeof *x);
    float norm = sqrtf(thread->isa->dot(x, x, size));
    thread->isa->axpby(x, 1 / (norm + 1e-7f), x, 0, size);
    float *step = orthogonalize(&own, x, y, s);
    if (tall) {
        float *transposed = step == x ? y : x;
        thread->isa->transpose(transposed, row, step, side, columns, rows);
        step = transposed;
    }
    float scale = tall ? sqrtf((float)rows / (float)columns) : 1;
    thread->isa->axpby(w, 1 - muon.rate * muon.decay, step, -muon.rate * scale, size);
}
