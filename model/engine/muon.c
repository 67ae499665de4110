#include "model/engine/muon.h"
#include "base/array.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* The iteration computes A = x x^T, makes a few steps on A alone, multiplies x, and so on. Here are
 * the steps on each A. Each but the first makes a rounding error in A larger, by up to a^2 = 12. So
 * with operands rounded to bfloat16 A is new in each step. */
enum { STAGES_MAX = 5 };
typedef struct {
    int count, steps[STAGES_MAX];
} Stages;

static Stages stages_of(const Products *products) {
    return products->rounds ? (Stages){5, {1, 1, 1, 1, 1}} : (Stages){2, {3, 2}};
}

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

/* Of a symmetric product, half is computed. */
double muon_work(const Products *products, int rows, int columns) {
    Shape s = shape_of(rows, columns);
    Stages stages = stages_of(products);
    double square = (double)s.m * s.m, work = 0;
    for (int i = 0; i < stages.count; i++)
        work += square * (1.5 * s.n + 0.5 * (4 * stages.steps[i] - 3) * s.m);
    return work;
}

/* ---- products of one thread ---- */

static void pack(const Thread *thread, float *packed, Matrix b, int K, int N) {
    thread->products->pack(thread, packed, b, K, N);
}

/* Copies the numbers above the diagonal of c[m,m] to those below it: for one column of squares
 * after another those beside the diagonal, then the square on it. */
static void mirror(const Isa *isa, float *c, int m) {
    enum { SQUARE = 16 };
    size_t row = (size_t)m;
    float turned[SQUARE * SQUARE];
    for (int j = 0; j < m; j += SQUARE) {
        int width = min_int(SQUARE, m - j);
        float *square = c + (size_t)j * row + j;
        isa->transpose(c + (size_t)j * row, row, c + j, row, j, width);
        isa->transpose(turned, SQUARE, square, row, width, width);
        for (size_t i = 1; i < (size_t)width; i++)
            for (size_t k = 0; k < i; k++) square[i * row + k] = turned[i * SQUARE + k];
    }
}

/* c[m,m] = a[m,K] b[K,m], where the result is known to be symmetric. */
static void multiply_symmetric(const Thread *thread, float *c, const float *a, Packed b) {
    thread->products->multiply_upper(thread, c, (size_t)b.N, (Matrix){a, (size_t)b.K, 1}, b);
    mirror(thread->isa, c, b.N);
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
 * singular values are between 0.7 and 1.2. Returns the result: x or y. y has s.mn floats, and the
 * rest of the scratch follows it. */
static float *orthogonalize(const Thread *thread, float *x, float *y, float *work, Shape s) {
    Stages stages = stages_of(thread->products);
    for (int i = 0; i < stages.count; i++) {
        float *from = x;
        take_steps(thread, y, x, work, s, stages.steps[i]);
        x = y;
        y = from;
    }
    return x;
}

void muon_step(const Thread *thread, float *w, float *m, float *g, int rows, int columns,
               Muon muon) {
    Thread own = *thread;
    own.index = 0;
    own.count = 1;
    Shape s = shape_of(rows, columns);
    size_t size = (size_t)rows * (size_t)columns, row = (size_t)columns, side = (size_t)rows;
    float *turned = thread->scratch, *y = turned + s.mn, *work = y + s.mn;
    bool tall = rows > columns;
    thread->isa->axpby(m, muon.momentum, g, 1 - muon.momentum, size);
    thread->isa->axpby(g, 1 - muon.momentum, m, muon.momentum, size);
    if (tall) thread->isa->transpose(turned, side, g, row, rows, columns);
    float *x = tall ? turned : g;
    float norm = sqrtf(thread->isa->dot(x, x, size));
    thread->isa->axpby(x, 1 / (norm + 1e-7f), x, 0, size);
    float *step = orthogonalize(&own, x, y, work, s);
    if (tall) {
        thread->isa->transpose(g, row, step, side, columns, rows);
        step = g;
    }
    float scale = tall ? sqrtf((float)rows / (float)columns) : 1;
    thread->isa->axpby(w, 1 - muon.rate * muon.decay, step, -muon.rate * scale, size);
}
