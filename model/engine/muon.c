#include "model/engine/muon.h"
#include "base/array.h"
#include "base/memory.h"

#include <math.h>

/* A step replaces x by P x with P = a I + b A + c A A and A = x x^T: a x + b x^3 + c x^5 of each
 * singular value x. */
typedef struct {
    float a, b, c;
} Polynomial;

/* Together the steps move singular values between 0.01 and 1 to between 0.71 and 1.27. Each
 * polynomial is the one that comes nearest to 1 on the interval that the polynomial before it
 * leaves, found by linear programming; no three others of degree 5 come nearer (Amsel, Persson,
 * Musco and Gower, "The Polar Express", 2025). Above its interval it rises steeply. So each is
 * evaluated at x / 1.01, as in the paper: that leaves room for rounding to bfloat16. */
enum { STEPS = 3 };
static const Polynomial polynomials[STEPS] = {{8.01324f, -22.9257f, 16.5995f},
                                              {3.60058f, -2.64188f, 0.510505f},
                                              {2.63495f, -1.919f, 0.43065f}};

/* Returns the number of steps in a stage. A stage computes A, takes its steps on A alone, and then
 * multiplies x once. Each step increases the rounding errors of A, so with operands rounded to
 * bfloat16 each step computes A again. */
static int steps_of_stage(const Products *products) {
    return products->rounds ? 1 : STEPS;
}

/* m <= n: with the shorter side first the products are smaller. */
typedef struct {
    int m, n;
    size_t mn, mm;
} Shape;

static Shape shape_of(int rows, int columns) {
    int m = min_int(rows, columns), n = rows < columns ? columns : rows;
    return (Shape){m, n, memory_lines((size_t)m * (size_t)n), memory_lines((size_t)m * (size_t)m)};
}

size_t muon_scratch(const Isa *isa, const Products *products, int rows, int columns) {
    Shape s = shape_of(rows, columns);
    size_t transposed = products->packed_size(isa, s.n, s.m);
    size_t plain = products->packed_size(isa, s.m, s.n); /* a square one is smaller than both */
    return 2 * s.mn + 4 * s.mm + (transposed > plain ? transposed : plain);
}

/* Half of a symmetric product is computed. */
double muon_work(const Products *products, int rows, int columns) {
    Shape s = shape_of(rows, columns);
    int steps = steps_of_stage(products), stages = STEPS / steps;
    double square = (double)s.m * s.m;
    return stages * square * (1.5 * s.n + 0.5 * (4 * steps - 3) * s.m);
}

/* ---- products of one thread ---- */

/* Copies the numbers above the diagonal of c[m,m] below it, one column of squares after another:
 * first the squares beside the diagonal, then the one on it. */
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

/* Computes c[m,m] = a[m,K] b[K,m], where the result is known to be symmetric. */
static void multiply_symmetric(const Thread *thread, float *c, const float *a, Packed b) {
    thread->products->multiply_upper(thread, c, (size_t)b.N, a, (size_t)b.K, b);
    mirror(thread->isa, c, b.N);
}

/* ---- the step ---- */

/* Divides x by a bound of its largest singular value: the eighth root of the sum of all singular
 * values' eighth powers, at most m^(1/8) times the largest. The norm of AA = A A is the square root
 * of that sum. Divides A and AA accordingly. */
static void divide_by_largest(const Isa *isa, float *x, float *A, float *AA, Shape s) {
    size_t square = (size_t)s.m * (size_t)s.m;
    float largest = sqrtf(sqrtf(isa->dot(AA, AA, square))) + 1e-7f; /* A's */
    isa->axpby(x, 1 / sqrtf(largest), x, 0, (size_t)s.m * (size_t)s.n);
    isa->axpby(A, 1 / largest, A, 0, square);
    isa->axpby(AA, 1 / (largest * largest), AA, 0, square);
}

/* Takes the steps first <= i < end. P has the eigenvectors of A, so the next A is P A P. Therefore
 * x is multiplied only once, at the end, by Q, the product of all P. All of these are symmetric m x
 * m matrices. Writes Q x to y[m,n]; x and y have s.mn floats, `work` the rest of muon_scratch. */
static void make_stage(const Thread *thread, float *y, float *x, float *work, Shape s, int first,
                       int end) {
    float *A = work, *P = A + s.mm, *PA = P + s.mm, *Q = PA + s.mm, *packed = Q + s.mm;
    size_t row = (size_t)s.n, side = (size_t)s.m;
    Packed square = {packed, s.m, s.m};
    thread->products->pack(thread, packed, (Matrix){x, 1, row}, s.n, s.m);
    multiply_symmetric(thread, A, x, (Packed){packed, s.n, s.m});
    for (int i = first; i < end; i++) {
        Polynomial p = polynomials[i];
        bool begins = i == first, ends = i == end - 1;
        thread->products->pack(thread, packed, (Matrix){A, side, 1}, s.m, s.m);
        multiply_symmetric(thread, P, A, square);
        if (i == 0) divide_by_largest(thread->isa, x, A, P, s);
        thread->isa->axpby(P, p.c, A, p.b, side * side);
        for (size_t j = 0; j < side; j++) P[j * side + j] += p.a;
        if (!ends || !begins)
            thread->products->pack(thread, packed, (Matrix){P, side, 1}, s.m, s.m);
        if (!ends) {
            multiply_symmetric(thread, PA, A, square);
            multiply_symmetric(thread, A, PA, square);
        }
        if (!begins) multiply_symmetric(thread, PA, Q, square); /* PA has done its work */
        float *product = begins ? P : PA, *spare = Q;
        *(begins ? &P : &PA) = spare;
        Q = product;
    }
    thread->products->pack(thread, packed, (Matrix){x, row, 1}, s.m, s.n);
    thread->products->multiply(thread, y, row, Q, side, (Packed){packed, s.m, s.n}, s.m, s.m, NULL,
                               s.n);
}

void muon_step(const Thread *thread, float *w, float *m, float *g, int rows, int columns,
               Muon muon) {
    Thread own = thread_alone(thread);
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
    const int steps = steps_of_stage(thread->products);
    for (int first = 0; first < STEPS; first += steps) { /* makes the rows of x orthogonal */
        make_stage(&own, y, x, work, s, first, first + steps);
        float *from = x;
        x = y;
        y = from;
    }
    if (tall) {
        thread->isa->transpose(g, row, x, side, columns, rows);
        x = g;
    }
    float scale = tall ? sqrtf((float)rows / (float)columns) : 1;
    thread->isa->axpby(w, 1 - muon.rate * muon.decay, x, -muon.rate * scale, size);
}
