/* test_kernels.c - every kernel table that this processor can run, on every remainder, compared
 * with simple loops in double precision. */
#include "tests/support.h"
#include "base/elementary.h"
#include "base/random.h"
#include "model/kernels/products.h"

enum { LONGEST = 70 }; /* longer than two of the widest vectors with a remainder */

/* Defines a test that runs its body with each table, `isa`. */
#define TEST_OF_EACH_TABLE(name)                                 \
    static void check_##name(const Isa *isa);                    \
    TEST(name) {                                                 \
        const Isa *tables[ISA_MAX];                              \
        int count = isa_available(tables);                       \
        assert_in_range(count, 1, ISA_MAX);                      \
        for (int i = 0; i < count; i++) check_##name(tables[i]); \
    }                                                            \
    static void check_##name(const Isa *isa)

/* Copies normal numbers from a pool, beginning at another place for each seed. */
static void fill(float *x, uint64_t seed, size_t n) {
    enum { POOL = 65521 }; /* a prime: no row of a matrix begins where another does */
    static float pool[POOL];
    for (uint64_t i = 0; pool[0] == 0 && i < POOL; i++)
        pool[POOL - 1 - i] = (float)random_normal(1, i);
    for (size_t i = 0; i < n; i++) x[i] = pool[(i + 9973 * seed) % POOL];
}

/* Random arrays that are freed together. */
typedef struct {
    float *at[12];
    int count;
} Arrays;

static float *array(Arrays *arrays, size_t n) {
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    fill(x, (uint64_t)arrays->count + 1, n);
    return arrays->at[arrays->count++] = x;
}

static void free_arrays(Arrays *arrays) {
    while (arrays->count > 0) free(arrays->at[--arrays->count]);
}

static Team *team_of(const Isa *isa, const Products *products, int threads) {
    Team *team;
    assert_ok(team_open(&team, isa, products, threads, 0, &err), err);
    return team;
}

/* A sum in double precision, and the size of its terms. */
typedef struct {
    double sum, size;
} Truth;

static void add_term(Truth *truth, double term) {
    truth->sum += term;
    truth->size += fabs(term);
}

/* ---- products ---- */

typedef struct {
    float *c, *sums, *packed;
    const float *bias;
    size_t c_row;
    Matrix a, b;
    int M, N, K;
    int terms, columns; /* the part of b that is used, or 0 for all */
    bool accumulate, anew;
} Product;

static void product_work(const Thread *thread, void *argument) {
    const Product *p = argument;
    const Products *by = thread->products;
    if (p->accumulate) {
        by->accumulate(thread, p->c, p->c_row, p->a, p->b, p->M, p->N, p->K, p->sums, p->anew);
        return;
    }
    by->pack(thread, p->packed, p->b, p->K, p->N);
    team_barrier(thread);
    const Share own = team_share(thread, (size_t)p->M, 32); /* whole tiles of AMX */
    by->multiply(thread, p->c + own.begin * p->c_row, p->c_row,
                 p->a.at + own.begin * p->a.row_stride, p->a.row_stride,
                 (Packed){p->packed, p->K, p->N}, (int)(own.end - own.begin),
                 p->terms ? p->terms : p->K, p->bias, p->columns ? p->columns : p->N);
}

enum { A_TRANSPOSED = 1, B_TURNED = 2, ACCUMULATE = 4, BIASED = 8, SUMMED = 16, ANEW = 32 };

/* c[M,N] = a[M,K] b[K,N], of which A_TRANSPOSED stores a as [K,M], B_TURNED b as [N,K]. */
static Product product_of(float *c, const float *a, const float *b, int M, int N, int K,
                          unsigned how) {
    return (Product){
        .c = c,
        .c_row = (size_t)N,
        .a = {a, how & A_TRANSPOSED ? 1 : (size_t)K, how & A_TRANSPOSED ? (size_t)M : 1},
        .b = {b, how & B_TURNED ? 1 : (size_t)N, how & B_TURNED ? (size_t)K : 1},
        .M = M,
        .N = N,
        .K = K,
        .accumulate = how & ACCUMULATE,
        .anew = how & ANEW};
}

static double element(Matrix m, int i, int j) {
    return (double)m.at[(size_t)i * m.row_stride + (size_t)j * m.column_stride];
}

/* The tolerance relative to the sum of the sizes of K terms. float32 keeps 24 bits of each partial
 * sum. A sum is one chain: the worst case loses K half-units in the last place, and random rounding
 * no more than about their square root (Higham and Mary, "A New Approach to Probabilistic Rounding
 * Error Analysis", 2019). bfloat16 keeps 8 bits of each of two factors. */
static double precision_of(const Products *products, int K) {
    return products == &float32_products ? fmax(4, sqrt(K)) * 0x1p-24 : 2 * 0x1p-8;
}

/* Checks one product; of a packed operand its first `terms` and `columns`, unless they are 0:
 * beyond N these are 0. The gaps between rows must not change. */
static void check_part(Team *team, const Products *products, int threads, int M, int N, int K,
                       unsigned how, int terms, int columns) {
    Arrays arrays = {.count = 0};
    size_t c_row = (size_t)(columns > N ? columns : N) + 3, c_size = (size_t)M * c_row;
    float *a = array(&arrays, (size_t)(M * K)), *b = array(&arrays, (size_t)(K * N));
    float *c = array(&arrays, c_size), *bias = array(&arrays, (size_t)N);
    float *sums = array(&arrays, (size_t)M), *sums_before = array(&arrays, (size_t)M);
    float *before = array(&arrays, c_size);
    float *packed = array(&arrays, (size_t)(K + 32) * (size_t)(N + 64));
    Product product = product_of(c, a, b, M, N, K, how);
    product.sums = how & SUMMED ? sums : NULL;
    product.packed = packed;
    product.bias = how & BIASED ? bias : NULL;
    product.c_row = c_row;
    product.terms = terms;
    product.columns = columns;
    memcpy(before, c, c_size * sizeof *c);
    memcpy(sums_before, sums, (size_t)M * sizeof *sums);
    for (int i = 0; i < M && how & ANEW; i++) { /* the earlier contents must not count */
        for (int j = 0; j < N; j++) c[(size_t)i * c_row + (size_t)j] = NAN;
        sums[i] = how & SUMMED ? NAN : sums[i];
    }
    team_run(team, threads, product_work, &product);
    for (int i = 0; i < M; i++)
        for (size_t j = 0; j < c_row; j++) {
            size_t at = (size_t)i * c_row + j;
            Truth truth = {(double)before[at], 1};
            if (j < (size_t)(columns ? columns : N)) {
                if (!(how & ACCUMULATE) || how & ANEW)
                    truth.sum = how & BIASED ? (double)bias[j] : 0;
                truth.size += fabs(truth.sum);
                for (int p = 0; p < (terms ? terms : K) && j < (size_t)N; p++)
                    add_term(&truth, element(product.a, i, p) * element(product.b, p, (int)j));
            }
            if (!(fabs((double)c[at] - truth.sum) <= precision_of(products, K) * truth.size))
                fail_msg("%s, %d threads: %d x %d x %d, how %u: c[%d,%zu] is %.9g, not %.9g",
                         products->name, threads, M, N, K, how, i, j, (double)c[at], truth.sum);
        }
    for (int i = 0; i < M; i++) {
        double truth = how & ANEW && how & SUMMED ? 0 : (double)sums_before[i];
        for (int p = 0; p < K && how & SUMMED; p++) truth += element(product.a, i, p);
        assert_near(sums[i], truth, 1e-5 * (1 + K));
    }
    free_arrays(&arrays);
}

static void check_product(Team *team, const Products *products, int threads, int M, int N, int K,
                          unsigned how) {
    check_part(team, products, threads, M, N, K, how, 0, 0);
}

/* Sizes around a tile of this size, and beyond a block in each direction; and the first terms and
 * columns of a packed operand, as in attention. */
static void check_sizes(const Isa *isa, const Products *products, int rows, int columns) {
    const struct {
        int M, N, K;
        unsigned how;
    } sizes[] = {
        {7, 5, 1100, A_TRANSPOSED | ACCUMULATE | SUMMED},
        {rows, columns + 6, 1100, BIASED},
        {rows, 140, 1100, B_TURNED},
        {401, 9, 3, A_TRANSPOSED | B_TURNED | ACCUMULATE},
        {401, 33, 3, BIASED},
        {5, 1100, 3, BIASED},
        {5, 1100, 3, A_TRANSPOSED | ACCUMULATE | SUMMED},
        {100, 150, 300, A_TRANSPOSED | ACCUMULATE | ANEW | SUMMED},
        {5, 1100, 3, A_TRANSPOSED | ACCUMULATE | ANEW | SUMMED},
        {rows + 1, columns + 1, 3, ACCUMULATE | ANEW},
        {rows + 1, columns, 3, ACCUMULATE | ANEW},
    };
    static const int terms[] = {1, 100, 129, 513, 1100}, widths[] = {1, 16, 65, 150};
    Team *team = team_of(isa, products, 3);
    for (int threads = 1; threads <= 3; threads += 2) {
        for (int M = 1; M <= 2 * rows + 1; M++) {
            check_product(team, products, threads, M, columns + 1, 5, M % 2 ? BIASED : 0);
            check_product(team, products, threads, M, 3, 6, A_TRANSPOSED | ACCUMULATE | SUMMED);
            check_product(team, products, threads, M, columns - 1, 5, ACCUMULATE);
        }
        for (int N = 1; N <= 2 * columns + 1; N++) {
            unsigned bias = N % 2 ? BIASED : 0;
            check_product(team, products, threads, rows + 1, N, 4, B_TURNED | bias);
            check_product(team, products, threads, 2, N, 9, B_TURNED | ACCUMULATE);
            /* rows for tall tiles and a remainder, where there are few columns */
            check_product(team, products, threads, 3 * rows, N, 4, bias);
            check_product(team, products, threads, 3 * rows, N, 40,
                          A_TRANSPOSED | ACCUMULATE | ANEW | SUMMED);
        }
        for (unsigned transposed = 0; transposed < 4; transposed++)
            for (int K = 1; K <= 67; K++) {
                unsigned more = K % 2 || transposed & A_TRANSPOSED ? ACCUMULATE : BIASED;
                check_product(team, products, threads, rows - 1, columns - 1, K, transposed | more);
                if (!(transposed & A_TRANSPOSED))
                    check_product(team, products, threads, rows, columns, K, transposed | BIASED);
            }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_product(team, products, threads, sizes[i].M, sizes[i].N, sizes[i].K,
                          sizes[i].how);
    }
    for (int N = 1; N <= 2 * columns; N += 5)
        check_part(team, products, 1, 5, N, 40, N % 2 ? B_TURNED : 0, 0,
                   (int)whole_vectors(isa, N));
    for (int i = 0; i < 20; i++)
        check_part(team, products, 1, 5, 150, 1100, 0, terms[i / 4], widths[i % 4]);
    team_close(team);
}

/* a a^T, of which multiply_upper computes the numbers on and above the diagonal. */
typedef struct {
    float *whole, *upper, *packed;
    const float *a;
    int N, K;
} Symmetric;

static void symmetric_work(const Thread *thread, void *argument) {
    const Symmetric *s = argument;
    size_t N = (size_t)s->N, K = (size_t)s->K;
    Packed b = {s->packed, s->K, s->N};
    thread->products->pack(thread, s->packed, (Matrix){s->a, 1, K}, s->K, s->N);
    thread->products->multiply(thread, s->whole, N + 1, s->a, K, b, s->N, s->K, NULL, s->N);
    thread->products->multiply_upper(thread, s->upper, N + 1, s->a, K, b);
}

static void check_upper_of(Team *team, const Isa *isa, const Products *products, int N, int K) {
    size_t row = (size_t)N + 1; /* the gap between rows must not change */
    Arrays arrays = {.count = 0};
    float *a = array(&arrays, (size_t)(N * K)), *upper = array(&arrays, (size_t)N * row);
    float *whole = array(&arrays, (size_t)N * row);
    memcpy(whole, upper, (size_t)N * row * sizeof *whole);
    Symmetric work = {whole, upper, array(&arrays, products->packed_size(isa, K, N)), a, N, K};
    team_run(team, 1, symmetric_work, &work);
    for (size_t i = 0; i < (size_t)N; i++)
        for (size_t j = i; j < row; j++)
            if (upper[i * row + j] != whole[i * row + j])
                fail_msg("%s, %s: %d x %d, (%zu, %zu) is not that of the whole product", isa->name,
                         products->name, N, K, i, j);
    free_arrays(&arrays);
}

static void check_upper(const Isa *isa, const Products *products) {
    Team *team = team_of(isa, products, 1);
    for (int N = 1; N <= 140; N++) check_upper_of(team, isa, products, N, N % 70 + 1);
    check_upper_of(team, isa, products, 65, 1100); /* several blocks of terms, and of rows */
    check_upper_of(team, isa, products, 600, 40);
    team_close(team);
}

TEST_OF_EACH_TABLE(products) {
    check_sizes(isa, &float32_products, isa->tile_rows, isa->tile_columns);
    check_upper(isa, &float32_products);
}

TEST(bf16_products) {
    const Products *tables[BF16_MAX];
    int count = bf16_available(tables);
    for (int i = 0; i < count; i++) {
        check_sizes(isa_choose(&err), tables[i], 32, 32);
        check_upper(isa_choose(&err), tables[i]);
    }
    assert_true(bf16_choose(&err) == (count > 0 ? tables[count - 1] : NULL));
    if (count == 0) assert_non_null(strstr(err.text, "bf16"));
}

/* The numbers that int8.c rounds x[n] to, and their scale. */
static double round_all(double *to, const float *x, size_t stride, int n, int limit) {
    float largest = 0;
    for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[(size_t)i * stride]));
    float scale = largest / (float)limit;
    for (int i = 0; i < n; i++) {
        float x_i = x[(size_t)i * stride];
        to[i] = nearbyint(limit == 127 ? (double)(x_i / scale)
                                       : (double)(x_i * ((float)limit / largest)));
    }
    return (double)scale;
}

/* Weights of 8 bits: each block of 512 terms has an exact sum of whole numbers. */
static void check_int8_product(Team *team, int threads, int M, int N, int K) {
    enum { MAX = 1100 };
    static double weights[MAX], left[MAX];
    Arrays arrays = {.count = 0};
    float *a = array(&arrays, (size_t)(M * K)), *b = array(&arrays, (size_t)(K * N));
    float *bias = array(&arrays, (size_t)N), *c = array(&arrays, (size_t)(M * N));
    Product product = product_of(c, a, b, M, N, K, 0);
    product.bias = bias;
    product.packed = array(&arrays, int8_weight_products.packed_size(NULL, K, N));
    assert_true(K <= MAX);
    for (int p = 0; p < K; p++) b[p * N + N / 2] *= 1000; /* has its own scale */
    team_run(team, threads, product_work, &product);
    for (int j = 0; j < N; j++) {
        double of_column = round_all(weights, b + j, (size_t)N, K, 127);
        for (int i = 0; i < M; i++) {
            Truth truth = {(double)bias[j], fabs((double)bias[j])};
            for (int from = 0; from < K; from += 512) {
                int terms = K - from < 512 ? K - from : 512;
                double of_row = round_all(left, a + i * K + from, 1, terms, 32767), sum = 0;
                for (int p = 0; p < terms; p++) sum += left[p] * weights[from + p];
                add_term(&truth, sum * of_row * of_column);
            }
            assert_near(c[i * N + j], truth.sum, 0x1p-22 * truth.size);
        }
    }
    free_arrays(&arrays);
}

TEST_OF_EACH_TABLE(int8) {
    enum { MAX = 2 * INT8_PANEL + 2 };
    Team *team = team_of(isa, &int8_weight_products, 3);
    for (int threads = 1; threads <= 3; threads += 2) {
        for (int N = 1; N <= MAX; N++) check_int8_product(team, threads, 2, N, 5);
        for (int K = 1; K <= MAX; K++) check_int8_product(team, threads, 1, INT8_PANEL + 1, K);
        for (int K = 511; K <= 1025; K += K % 512 == 1 ? 510 : 1)
            check_int8_product(team, threads, 2, 3, K);
        for (int M = 3; M <= 8; M++) /* some rows share a read of the weights */
            for (int N = 7; N <= MAX; N += 8) check_int8_product(team, threads, M, N, 513);
    }
    team_close(team);
}

/* The largest sum of a block is still exact; an infinity or a NaN, of the weights or of the left
 * operand, is not lost; tiny numbers are 0. */
TEST_OF_EACH_TABLE(int8_extremes) {
    enum { K = 512 };
    static const float odd[] = {INFINITY, NAN};
    static float a[K], b[K], packed[INT8_PANEL + (K + 4) * INT8_PANEL / sizeof(float)];
    float c;
    Team *team = team_of(isa, &int8_weight_products, 1);
    Product product = product_of(&c, a, b, 1, 1, K, B_TURNED);
    product.packed = packed;
    for (int p = 0; p < K; p++) a[p] = 1, b[p] = -1;
    team_run(team, 1, product_work, &product);
    assert_near(c, -K, K * 0x1p-22);
    for (int i = 0; i < 4; i++) {
        float *of = i < 2 ? a : b, before = of[7];
        of[7] = odd[i % 2];
        team_run(team, 1, product_work, &product);
        assert_true(!isfinite(c));
        of[7] = before;
    }
    for (int tiny = 0; tiny < 2; tiny++) {
        for (int p = 0; p < K; p++) a[p] = tiny ? 1 : 1e-45f, b[p] = tiny ? 1e-45f : -1;
        team_run(team, 1, product_work, &product);
        assert_true(c == 0);
    }
    team_close(team);
}

/* ---- copies ---- */

/* Transposes, and copies; aligned and not, with rows that are whole vectors and rows that are not.
 * Nothing beside the copy is written. */
TEST_OF_EACH_TABLE(copies) {
    enum { ROWS = 37, MAX = 98, ROW = 112 };
    static float from[ROWS * ROW];
    static _Alignas(64) float to[ROW * ROW];
    fill(from, 1, ROWS * ROW);
    for (int rows = 1; rows <= ROWS; rows += 3)
        for (int columns = 1; columns <= MAX; columns++)
            for (int how = 0; how < 2; how++) {
                void (*const copies[])(float *, size_t, const float *, size_t, int,
                                       int) = {isa->copy, isa->transpose};
                bool transposes = how == 1;
                int shift = rows % 2;
                memset(to, 0, sizeof to);
                copies[how](to + shift, ROW, from, MAX, rows, columns);
                for (int i = 0; i < ROW * ROW; i++) {
                    int row = i / ROW, column = i % ROW - shift;
                    if (transposes) row = i % ROW - shift, column = i / ROW;
                    bool copied = row >= 0 && row < rows && column >= 0 && column < columns;
                    if (to[i] != (copied ? from[row * MAX + column] : 0))
                        fail_msg("%s: copy %d of %d x %d", isa->name, how, rows, columns);
                }
            }
}

/* ---- loops over numbers ---- */

enum { ARRAYS = 26 };
typedef float Floats[ARRAYS][LONGEST];
typedef double Doubles[ARRAYS][LONGEST];

/* Numbers for a kernel: x[14] has none below 0, x[15] larger ones. */
static void prepare(Floats x) {
    fill(x[0], 9, ARRAYS * LONGEST);
    for (int i = 0; i < LONGEST; i++) x[14][i] = fabsf(x[14][i]), x[15][i] *= 3;
}

static double gelu_of(double x, double up) {
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x))) * up;
}

static double swiglu_of(double gate, double up) {
    return gate / (1 + exp(-gate)) * up;
}

static double slope_of(double (*of)(double, double), double x, double up) {
    const double h = 1e-5;
    return (of(x + h, up) - of(x - h, up)) / (2 * h);
}

/* y[2,n] = x normalized with its own mean and rstd; RMSNorm has neither mean nor b. */
static void norm_of(double *y, double *mean, double *rstd, const double *x, const double *w,
                    const double *b, int n) {
    for (int r = 0; r < 2; r++, x += n, y += n) {
        double mu = 0, variance = 0;
        for (int i = 0; i < n && b; i++) mu += x[i] / n;
        for (int i = 0; i < n; i++) variance += pow(x[i] - mu, 2) / n;
        if (b) mean[r] = mu;
        rstd[r] = 1 / sqrt(variance + (b ? 1e-5 : 1e-6));
        for (int i = 0; i < n; i++) y[i] = (x[i] - mu) * rstd[r] * w[i] + (b ? b[i] : 0);
    }
}

/* Adds to the gradients dx, dw and db, which are x[0] to x[2]; dy is x[3], x x[4] and w x[5]. */
static void norm_backward_of(Doubles x, double mean, double rstd, bool rms, int n) {
    double of_g = 0, of_gx = 0;
    for (int i = 0; i < n; i++) {
        if (!rms) of_g += x[3][i] * x[5][i] / n;
        of_gx += x[3][i] * x[5][i] * (x[4][i] - mean) * rstd / n;
    }
    for (int i = 0; i < n; i++) {
        const double hat = (x[4][i] - mean) * rstd;
        x[0][i] += rstd * (x[3][i] * x[5][i] - of_g - hat * of_gx);
        x[1][i] += x[3][i] * hat;
        if (!rms) x[2][i] += x[3][i];
    }
}

static void softmax_of(double *p, double *lse, double scale, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exp(scale * p[i]);
    for (int i = 0; i < n; i++) p[i] = exp(scale * p[i]) / sum;
    *lse = log(sum);
}

static void adamw_of(double *w, double *m, double *v, double g) {
    *m = 0.9 * *m + 0.1 * g;
    *v = 0.95 * *v + 0.05 * g * g;
    *w -= 0.01 * (0.1 * *w + *m / 0.19 / (sqrt(*v / 0.0975) + 1e-8));
}

/* A kernel's call with n numbers of some arrays, and the same computed in double precision. The
 * error may be `absolute`, and `relative` times the true number. */
typedef struct {
    const char *name;
    void (*ours)(const Isa *isa, Floats x, int n);
    void (*truth)(Doubles x, int n);
    double absolute, relative;
} Loop;

static Loop all[32];
static int loops;

/* Defines one: its call, and the truth, first of whole rows, then of each number i. Outputs overlap
 * inputs where the kernel allows it. */
#define ROW  LONGEST
#define WAY  (n % 2 ? 1 : -1)
#define TAPS (n % 7)
#define LOOP(name, absolute, relative, call, of_rows, ...)                         \
    static void our_##name(const Isa *isa, Floats x, int n) {                      \
        call;                                                                      \
    }                                                                              \
    static void true_##name(Doubles x, int n) {                                    \
        of_rows;                                                                   \
        for (int i = 0; i < n; i++) __VA_ARGS__;                                   \
    }                                                                              \
    __attribute__((constructor)) static void add_##name(void) {                    \
        all[loops++] = (Loop){#name, our_##name, true_##name, absolute, relative}; \
    }
#define NONE (void)0
#define EACH_ROW(rows, what) \
    for (int r = 0; r < (rows); r++) what

LOOP(sum, 0, 6e-8, isa->sum(x[0], x[0], x[1], (size_t)n), NONE, x[0][i] += x[1][i])
LOOP(axpby, 1e-6, 0, isa->axpby(x[0], 3, x[1], -2, (size_t)n), NONE,
     x[0][i] = 3 * x[0][i] - 2 * x[1][i])
LOOP(dot, 1e-6, 1e-6, x[2][0] = isa->dot(x[0], x[1], (size_t)n), x[2][0] = 0,
     x[2][0] += x[0][i] * x[1][i])
LOOP(softmax, 0, 2e-6, isa->softmax(x[0], ROW, x[3], x[0], 1.7f, 3, n),
     EACH_ROW(3, softmax_of(x[r], &x[3][r], (double)1.7f, n)), NONE)
LOOP(softmax_backward, 0, 2e-6, isa->softmax_backward(x[0], x[2], ROW, x[4], x[5], 0.5f, 2, n),
     NONE, EACH_ROW(2, {
         x[2 + r][i] = exp(0.5 * x[2 + r][i] - x[4][r]);
         x[r][i] = x[2 + r][i] * (x[r][i] - x[5][r]) * 0.5;
     }))
LOOP(mask, 0, 0, isa->mask(x[0], ROW, 3, n / 2, n / 16 * 16), NONE,
     EACH_ROW(3, if (i >= n / 2 + r && i < n / 16 * 16) x[r][i] = -INFINITY))
LOOP(gelu, 2e-6, 0, isa->gelu(x[0], x[15], (size_t)n), NONE, x[0][i] = gelu_of(x[15][i], 1))
LOOP(gelu_backward, 5e-6, 0, isa->gelu_backward(x[0], x[1], x[15], x[0], (size_t)n), NONE, {
    x[0][i] *= slope_of(gelu_of, x[15][i], 1);
    x[1][i] = gelu_of(x[15][i], 1);
})
LOOP(swiglu, 5e-6, 0, isa->swiglu(x[0], x[15], x[1], (size_t)n), NONE,
     x[0][i] = swiglu_of(x[15][i], x[1][i]))
LOOP(swiglu_backward, 2e-5, 0, isa->swiglu_backward(x[0], x[1], x[2], x[15], x[3], x[0], (size_t)n),
     NONE, {
         x[1][i] = x[0][i] * swiglu_of(x[15][i], 1);
         x[2][i] = swiglu_of(x[15][i], x[3][i]);
         x[0][i] *= slope_of(swiglu_of, x[15][i], x[3][i]);
     })
LOOP(layernorm, 1e-6, 5e-6, isa->normalize(x[0], x[2], x[3], x[4], x[6], x[7], 2, n),
     norm_of(x[0], x[2], x[3], x[4], x[6], x[7], n), NONE)
LOOP(rmsnorm, 1e-6, 1e-6, isa->normalize(x[0], NULL, x[3], x[4], x[6], NULL, 2, n),
     norm_of(x[0], NULL, x[3], x[4], x[6], NULL, n), NONE)
LOOP(layernorm_backward, 2e-6, 1e-6,
     isa->normalize_backward(x[0], x[1], x[2], x[3], x[4], (float[]){0.25f}, (float[]){0.75f}, x[5],
                             1, n),
     norm_backward_of(x, 0.25, 0.75, false, n), NONE)
LOOP(rmsnorm_backward, 2e-6, 1e-6,
     isa->normalize_backward(x[0], x[1], NULL, x[3], x[4], NULL, (float[]){0.75f}, x[5], 1, n),
     norm_backward_of(x, 0, 0.75, true, n), NONE)
LOOP(rotate, 2e-6, 0, isa->rotate(x[0], x[0], x[2], x[3], WAY, n), double *y = x[0], {
    const double a = y[i], b = y[n + i];
    y[i] = a * x[2][i] - WAY * b * x[3][i];
    y[n + i] = WAY * a * x[3][i] + b * x[2][i];
})
LOOP(convolve, 4e-6, 0, isa->convolve(x[0], x[8], -ROW, x[16], ROW, TAPS, n), NONE, {
    x[0][i] = x[8][i];
    EACH_ROW(TAPS, x[0][i] += x[16 + r][i] * x[8 - r][i]);
})
LOOP(convolve_backward, 4e-6, 0, isa->convolve(x[0], x[8], ROW, x[16], ROW, TAPS, n), NONE, {
    x[0][i] = x[8][i];
    EACH_ROW(TAPS, x[0][i] += x[16 + r][i] * x[8 + r][i]);
})
LOOP(convolve_gradients, 4e-6, 0, isa->convolve_gradients(x[0], x[6], x[21], ROW, 5, TAPS, n), NONE,
     EACH_ROW(5 * TAPS, x[r / 5][i] += x[6 + r % 5][i] * x[21 + r % 5 - r / 5][i]))
LOOP(adamw, 1e-6, 0,
     isa->adamw(x[0], x[1], x[14], x[2],
                (AdamW){0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.19f, 0.0975f, 0.5f}, (size_t)n),
     NONE, adamw_of(&x[0][i], &x[1][i], &x[14][i], 0.5 * x[2][i]))
/* only for their bits: other tests have their numbers */
LOOP(scores, INFINITY, 0, isa->scores(x[0], 64, x[4], x[5], KEY_GROUP, 1 + n / 32, 5, 1), (void)x,
     NONE)
LOOP(means, INFINITY, 0, isa->means(x[0], x[4], 3, x[5], ROW, 5, n / 8, 8, 3), (void)x, NONE)
LOOP(round, INFINITY, 0, int16_t rounded[LONGEST + 16];
     isa->round_to_16(false, rounded, x[1], 1000, n);
     for (int i = 0; i < n; i++) x[0][i] = rounded[i], (void)x, NONE)

/* Whatever the remainder, nothing else is written. */
TEST_OF_EACH_TABLE(loops) {
    static Floats x;
    static Doubles t;
    const float *ours = x[0];
    double *truth = t[0];
    for (int k = 0; k < loops; k++)
        for (int n = 1; n <= LONGEST && all[k].absolute < 1; n++) {
            prepare(x);
            for (int i = 0; i < ARRAYS * LONGEST; i++) truth[i] = (double)ours[i];
            all[k].ours(isa, x, n);
            all[k].truth(t, n);
            for (int i = 0; i < ARRAYS * LONGEST; i++) {
                const double most = all[k].absolute + all[k].relative * fabs(truth[i]);
                if ((double)ours[i] != truth[i] && !(fabs((double)ours[i] - truth[i]) <= most))
                    fail_msg("%s: %s of %d numbers: x[%d][%d] is %.9g, not %.9g", isa->name,
                             all[k].name, n, i / LONGEST, i % LONGEST, (double)ours[i], truth[i]);
            }
        }
}

/* ---- rows ---- */

/* One query of attention: of each number of groups, and of heads that share values. */
TEST_OF_EACH_TABLE(query) {
    enum { GROUPS = 19, HEADS = 16, KEYS = GROUPS * KEY_GROUP, GAP = 5 /* between groups, rows */ };
    for (int K = 1; K <= 150; K = K < 20 ? K + 1 : K + 13) {
        size_t C = (size_t)K, stride = C * KEY_GROUP + GAP, v_row = C * HEADS + GAP;
        Arrays arrays = {.count = 0};
        float *q = array(&arrays, HEADS * C), *keys = array(&arrays, GROUPS * stride);
        float *p = array(&arrays, HEADS * (KEYS + GAP)), *v = array(&arrays, KEYS * v_row);
        float scores[HEADS][KEYS], y[HEADS * 150 + 1];
        for (int groups = 1; groups <= GROUPS; groups++) {
            size_t heads = 1 + (size_t)groups % HEADS, n = (size_t)groups * KEY_GROUP;
            isa->scores(scores[0], KEYS, q, keys, stride, groups, K, (int)heads);
            for (size_t s = 0; s < heads * n; s++) {
                const float *key = keys + s % n / KEY_GROUP * stride + s % KEY_GROUP;
                Truth truth = {0, 0};
                for (size_t c = 0; c < C; c++)
                    add_term(&truth, (double)q[s / n * C + c] * (double)key[c * KEY_GROUP]);
                assert_near(scores[s / n][s % n], truth.sum, 1e-6 * truth.size);
            }
        }
        for (int heads = 1; heads <= HEADS; heads++) {
            int group = 1 + heads % 4, n = 1 + heads * 7 % KEYS;
            for (int i = 0; i < heads * K; i++) y[i] = 2;
            y[heads * K] = -7; /* stays */
            isa->means(y, p, KEYS + GAP, v, v_row, n, K, heads, group);
            for (int i = 0; i < heads * K; i++) {
                const float *weights = p + (size_t)(i / K) * (KEYS + GAP);
                const float *values = v + i / K / group * K + i % K;
                Truth truth = {2, 2};
                for (size_t s = 0; s < (size_t)n; s++)
                    add_term(&truth, (double)weights[s] * (double)values[s * v_row]);
                assert_near(y[i], truth.sum, 1e-6 * truth.size);
            }
            assert_true(y[heads * K] == -7);
        }
        free_arrays(&arrays);
    }
}

/* The same bits without vectors. Nothing beyond the last share is written. */
TEST_OF_EACH_TABLE(numerators) {
    const double temperature = 0.7;
    for (int n = 1; n <= LONGEST; n++) {
        float x[LONGEST], y[LONGEST], most = -INFINITY;
        double p[LONGEST + 1], total = 0;
        p[n] = -7;
        fill(x, (uint64_t)n, (size_t)n);
        for (int i = 0; i < n; i++) most = fmaxf(most, x[i] *= 300); /* some are 0 */
        double sum = isa->numerators(p, x, temperature, n);
        for (int i = 0; i < n; i++) {
            assert_true(p[i] == natural_exponential(((double)x[i] - (double)most) / temperature));
            total += p[i];
        }
        assert_true(sum == total && p[n] == -7);
        assert_near(isa->near_numerators(y, x, (float)(1 / temperature), n), sum, 1e-6 * sum);
    }
}

/* y = e^x by the backward of softmax */
static void exponentials(const Isa *isa, float *y, const float *x, int n) {
    const float zero = 0;
    float dx[LONGEST] = {0};
    memcpy(y, x, (size_t)n * sizeof *y);
    isa->softmax_backward(dx, y, 0, &zero, &zero, 1, 1, n);
}

/* The exponential alone over its whole range. */
TEST_OF_EACH_TABLE(exponential) {
    enum { STRIPS = 2000, STRIP = 50 }; /* enough for vectors and a remainder */
    double worst = 0;
    for (int s = 0; s < STRIPS; s++) {
        float x[STRIP], y[STRIP];
        for (int i = 0; i < STRIP; i++)
            x[i] = (float)(-87.0 + 175.0 * (s * STRIP + i) / (STRIPS * STRIP));
        exponentials(isa, y, x, STRIP);
        for (int i = 0; i < STRIP; i++)
            worst = fmax(worst, fabs((double)y[i] / exp((double)x[i]) - 1));
    }
    if (!(worst < 2e-7)) fail_msg("%s: relative error %g", isa->name, worst);
    float x[] = {-87.5f, -1000, -INFINITY, NAN, 100, INFINITY}, y[6];
    exponentials(isa, y, x, 6);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0 && isnan(y[3]));
    assert_true(y[4] > 1e38f && y[5] > 1e38f);
}

/* Masks are minus infinity. A NaN must stay a NaN. Of a number whose square overflows, others are
 * not 0. */
TEST_OF_EACH_TABLE(odd_numbers) {
    float x[40], p[40], w[40], mean, lse, other;
    for (int i = 0; i < 40; i++) x[i] = i % 3 ? -INFINITY : 1;
    isa->softmax(p, 40, &lse, x, 1, 1, 40);
    for (int i = 0; i < 40; i++) assert_near(p[i], i % 3 ? 0 : 1.0 / 14, 1e-7);
    x[37] = NAN;
    isa->softmax(p, 40, &lse, x, 1, 1, 40);
    assert_true(isnan(lse));
    for (int i = 0; i < 40; i++) x[i] = w[i] = i < 39 ? 1 : 1e20f;
    for (int rms = 0; rms < 2; rms++) {
        isa->normalize(p, &mean, &other, x, w, rms ? NULL : w, 1, 40);
        assert_true(isnan(p[0]) && isnan(p[39]));
    }
}

/* ---- activations ---- */

/* Where the exponential is beyond its range, and of NaN. SwiGLU's gate has a wider range in which
 * it is neither 0 nor itself. */
TEST_OF_EACH_TABLE(far) {
    const float x[] = {-1e6f, -300, -90, -70, 70, 90, 300, 1e6f, NAN};
    const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    float y[9], again[9], dx[9], dup[9];
    for (int swiglu = 0; swiglu < 2; swiglu++) {
        if (swiglu) isa->swiglu(y, x, ones, 9);
        if (swiglu) isa->swiglu_backward(dx, dup, again, x, ones, ones, 9);
        if (!swiglu) isa->gelu(y, x, 9);
        if (!swiglu) isa->gelu_backward(dx, again, x, ones, 9);
        for (int i = 0; i < 8; i++) {
            assert_near(y[i], i < 4 ? 0 : (double)x[i], i < 4 ? 1e-20 : (double)x[i] * 1e-6);
            assert_near(again[i], y[i], i < 4 ? 1e-20 : 0);
            assert_near(dx[i], i < 4 ? 0 : 1, 1e-6);
        }
        assert_true(isnan(y[8]) && isnan(again[8]) && isnan(dx[8]));
    }
}

/* The power of two in both activations: where the gate is near 0, its error is not hidden. */
TEST_OF_EACH_TABLE(power_of_two) {
    enum { COUNT = 4000 };
    static float gate[COUNT], up[COUNT], y[COUNT];
    double worst = 0;
    for (int i = 0; i < COUNT; i++) {
        gate[i] = (2.0f * (float)i - COUNT + 1) / COUNT;
        up[i] = 1;
    }
    isa->swiglu(y, gate, up, COUNT);
    for (int i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs((double)y[i] / swiglu_of((double)gate[i], 1) - 1));
    if (!(worst < 3e-7)) fail_msg("%s: relative error %g", isa->name, worst);
}

/* Rows together have the bits of each alone. */
static void check_normalize_rows(const Isa *isa, int rows, int n) {
    enum { ROWS = 35, N = 33 };
    float x[ROWS * N], w[N], b[N], y[ROWS * N], mean[ROWS], rstd[ROWS], one[N], of_mean, of_rstd;
    fill(x, 1, ROWS * N);
    fill(w, 2, N);
    fill(b, 3, N);
    for (int rms = 0; rms <= 1; rms++) {
        const float *offsets = rms ? NULL : b;
        isa->normalize(y, mean, rstd, x, w, offsets, rows, n);
        for (int r = 0; r < rows; r++) {
            isa->normalize(one, &of_mean, &of_rstd, x + r * n, w, offsets, 1, n);
            assert_memory_equal(one, y + r * n, (size_t)n * sizeof *y);
            assert_true(of_rstd == rstd[r] && (rms || of_mean == mean[r]));
        }
    }
}

TEST_OF_EACH_TABLE(normalize) {
    for (int rows = 1; rows <= 35; rows++) check_normalize_rows(isa, rows, 1 + rows % 33);
}

/* ---- dropout, AdamW ---- */

TEST_OF_EACH_TABLE(dropout) {
    enum { WIDE = 20000 };
    static float x[WIDE], y[WIDE], z[WIDE];
    DropoutRow mask = {
        .key = 12345, .threshold = (uint32_t)(0.7 * 4294967295.0), .scale = 1 / 0.7f};
    DropoutRow other = mask;
    other.key = 12346;
    int kept = 0, same = 0;
    for (int i = 0; i < WIDE; i++) x[i] = 1;
    isa->dropout(y, x, mask, WIDE);
    isa->dropout(z, x, other, WIDE);
    for (int i = 0; i < WIDE; i++) {
        assert_true(y[i] == 0 || y[i] == mask.scale);
        kept += y[i] != 0;
        same += (y[i] != 0) == (z[i] != 0);
    }
    assert_near(kept / (double)WIDE, 0.7, 0.015); /* more than four deviations */
    assert_near(same / (double)WIDE, 0.7 * 0.7 + 0.3 * 0.3, 0.015);
    isa->dropout(z, x, mask, LONGEST); /* a shorter row begins with the same values */
    assert_memory_equal(y, z, LONGEST * sizeof *y);
    const Isa *tables[ISA_MAX]; /* every table gives the same mask */
    isa_available(tables);
    tables[0]->dropout(z, x, mask, WIDE);
    assert_memory_equal(y, z, sizeof y);
}

/* ---- the same bits ---- */

/* isa.c in plain C with sixteen lanes, on x86-64 compiled for AVX2; and with one, for compilers
 * without vectors, there with FMA, because fmaf of mingw-w64 rounds several times. Every table with
 * a fused multiply-add gives their bits. */
extern const Isa isa_portable, isa_scalar;

/* The bits of a product with as many terms as several blocks. */
static void multiply_with(const Isa *isa, const Products *products, bool accumulate, float *c) {
    enum { M = 17, N = 70, K = 600 };
    Arrays arrays = {.count = 0};
    float *a = array(&arrays, M * K), *b = array(&arrays, N * K);
    Product product = product_of(c, a, b, M, N, K, accumulate ? ACCUMULATE | A_TRANSPOSED : 0);
    Team *team = team_of(isa, products, 1);
    product.sums = array(&arrays, M);
    product.bias = array(&arrays, N);
    product.packed = array(&arrays, products->packed_size(isa, K, N));
    for (int i = 0; i < M * N; i++) c[i] = 0.1f;
    team_run(team, 1, product_work, &product);
    memcpy(c + M * N, product.sums, M * sizeof *c);
    team_close(team);
    free_arrays(&arrays);
}

static void check_same_bits(const Isa *isa) {
    static Floats ours, theirs;
    float c[17 * 71], other[17 * 71];
    for (int k = 0; k < loops; k++)
        for (int n = 1; n <= LONGEST; n++) {
            prepare(ours);
            prepare(theirs);
            all[k].ours(isa, ours, n);
            all[k].ours(&isa_portable, theirs, n);
            if (memcmp(ours, theirs, sizeof ours) != 0)
                fail_msg("%s: %s of %d numbers gives other bits", isa->name, all[k].name, n);
        }
    for (int how = 0; how < 3; how++) {
        const Products *const tables[] = {&float32_products, &float32_products,
                                          &int8_weight_products};
        const Products *products = tables[how];
        multiply_with(isa, products, how == 1, c);
        multiply_with(&isa_portable, products, how == 1, other);
        if (memcmp(c, other, sizeof c) != 0)
            fail_msg("%s: product %d gives other bits", isa->name, how);
    }
}

TEST(same_bits) {
    const Isa *tables[ISA_MAX];
    int count = isa_available(tables);
#if defined __x86_64__ /* the base set has no fused multiply-add */
    const int first = 1;
#else
    const int first = 0;
#endif
    for (int i = first; i < count; i++) check_same_bits(tables[i]);
    if (count > first) check_same_bits(&isa_scalar);
}

/* ---- choice ---- */

/* bfloat16 is there if Linux says that the processor has it; emulators show the real one's file. */
TEST(bf16_table) {
#if defined __linux__ && defined __x86_64__
    const Products *tables[BF16_MAX];
    char line[4096];
    bool has = false, fast = false;
    FILE *processors = fopen("/proc/cpuinfo", "r");
    if (!processors) skip();
    while (fgets(line, sizeof line, processors)) {
        has = has || strstr(line, " avx512_bf16");
        fast = fast || strstr(line, " amx_bf16") || strstr(line, "AuthenticAMD");
    }
    fclose(processors);
    if (has) {
        assert_true(bf16_choose(&err));
        if (bf16_available(tables) > 1) assert_int_equal(bf16_pays(), fast);
        return;
    }
#endif
    skip();
}

TEST(forced_table) {
    const Isa *tables[ISA_MAX];
    int count = isa_available(tables);
    for (int i = 0; i < count; i++) {
        setenv("KERNELS", tables[i]->name, 1);
        assert_ptr_equal(isa_choose(&err), tables[i]);
    }
    setenv("KERNELS", "abacus", 1);
    assert_null(isa_choose(&err));
    assert_non_null(strstr(err.text, "abacus"));
    unsetenv("KERNELS");
    assert_ptr_equal(isa_choose(&err), tables[count - 1]);
}
