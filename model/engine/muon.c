#include "model/engine/muon.h"
#include "base/array.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { FIRST_STEPS = 3, LAST_STEPS = 2 };

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
    return 2 * s.mn + 4 * s.mm + packed_size(isa, products, s);
}

double muon_work(int rows, int columns) {
    Shape s = shape_of(rows, columns);
    int halves = 4 * (FIRST_STEPS + LAST_STEPS) - 6; /* m x m products, of which half is computed */
    return (double)s.m * s.m * (3.0 * s.n + 0.5 * halves * s.m);
}

/* ---- products of one thread ---- */

static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    thread->products->pack(thread, packed, b, K, N);
}

/* c[m,m] = a[m,K] b[K,m], where the result is known to be symmetric: computes the panels of columns
 * down to the diagonal, and mirrors them. That is little more than half of the work. */
static void multiply_symmetric(const Thread *thread, float *c, const float *a, Packed b) {
    int m = b.N, panel = thread->products->panel, width = panel ? panel : thread->isa->tile_columns;
    size_t row = (size_t)m;
    for (int j = 0; j < m; j += width) {
        int end = min_int(j + width, m);
        thread->products->multiply(thread, c, row, (Matrix){a, (size_t)b.K, 1}, b, end, b.K, NULL,
                                   (Share){(size_t)j, (size_t)end});
        thread->isa->transpose(c + (size_t)j * row, row, c + j, row, j, end - j);
    }
    /* within the squares on the diagonal, rounding may differ */
    for (int j = 0; j < m; j++)
        for (int i = j / width * width; i < j; i++) c[j * m + i] = c[i * m + j];
}

/* ---- the step ---- */

/* A step of Newton and Schulz replaces x by P x with P = a I + b A + c A A and A = x x^T. P has the
 * eigenvectors of A, so the next A is P A P, and x need not be multiplied before the end: by Q, the
 * product of all P. All of these are symmetric m x m matrices. Writes Q x to y[m,n] after `steps`
 * steps; both have s.mn floats, `work` is the rest of muon_scratch. */
static void take_steps(const Thread *thread, float *y, const float *x, float *work, Shape s,
                       int steps) {
    const float a = 3.4445f, b = -4.7750f, c = 2.0315f; /* Jordan's */
    float *A = work, *P = A + s.mm, *PA = P + s.mm, *Q = PA + s.mm, *packed = Q + s.mm;
    size_t row = (size_t)s.n, side = (size_t)s.m;
    Packed square = {packed, s.m, s.m};
    pack(thread, packed, (Matrix){x, 1, row}, s.n, s.m);
    multiply_symmetric(thread, A, x, (Packed){packed, s.n, s.m});
    for (int i = 0; i < steps; i++) {
        pack(thread, packed, (Matrix){A, side, 1}, s.m, s.m);
        multiply_symmetric(thread, P, A, square);
        thread->isa->axpby(P, c, A, b, side * side);
        for (size_t j = 0; j < side; j++) P[j * side + j] += a;
        bool last = i == steps - 1;
        if (!last) multiply_symmetric(thread, PA, P, square);
        if (!last || i > 0) pack(thread, packed, (Matrix){P, side, 1}, s.m, s.m);
        if (!last) multiply_symmetric(thread, A, PA, square);
        if (i > 0) multiply_symmetric(thread, PA, Q, square); /* PA has done its work */
        float *product = i > 0 ? PA : P, *spare = Q;
        *(i > 0 ? &PA : &P) = spare;
        Q = product;
    }
    pack(thread, packed, (Matrix){x, row, 1}, s.m, s.n);
    thread->products->multiply(thread, y, row, (Matrix){Q, side, 1}, (Packed){packed, s.m, s.n},
                               s.m, s.m, NULL, (Share){0, row});
}

/* Moves x[m,n], of norm 1, close to the nearest matrix with orthogonal rows: in the end all
 * singular values are between 0.7 and 1.2. Rounding errors in A grow by a^2 with each step that
 * does not compute it from x, so x is computed once in between. y has s.mn floats. */
static void orthogonalize(const Thread *thread, float *x, float *y, Shape s) {
    take_steps(thread, y, x, y + s.mn, s, FIRST_STEPS);
    take_steps(thread, x, y, y + s.mn, s, LAST_STEPS);
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
    orthogonalize(&own, x, y, s);
    if (tall) thread->isa->transpose(y, row, x, side, columns, rows);
    const float *step = tall ? y : x;
    float scale = tall ? sqrtf((float)rows / (float)columns) : 1;
    thread->isa->axpby(w, 1 - muon.rate * muon.decay, step, -muon.rate * scale, size);
}
