/* kernels.h - products of matrices, and the loops that want vector registers.
 *
 * isa.c is one source compiled once for each instruction set: a register tile and the loops over
 * rows, no threads; choose.c picks the widest table that the processor runs. team.c has the
 * threads. matmul.c is written once: packing, blocking, sharing out. bf16.c and narrow.c are the
 * same in bfloat16: of both factors, on processors that multiply it; of the weights alone, on any.
 *
 * Outside, everything is row-major float32. Nothing fails: contracts are asserted. */
#ifndef TRIL_KERNELS_H
#define TRIL_KERNELS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* ---- the loops of one instruction set ---- */

/* A dropout mask for one row: element j is kept when a hash of (key, j) is below `threshold`, and
 * then multiplied by `scale`. */
typedef struct {
    uint64_t key;
    uint32_t threshold; /* keep probability * (2^32 - 1) */
    float scale;        /* 1 / keep probability */
} DropoutRow;

/* One step of AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019). */
typedef struct {
    float learning_rate, beta1, beta2, epsilon, decay;
    float correction1, correction2; /* 1 - beta^step */
    float gradient_scale;           /* from clipping */
} AdamW;

/* Rows w_j below are n rows of K floats, `stride` floats apart. Outputs must not overlap inputs
 * unless it says so. */
typedef struct Isa {
    const char *name;
    int lanes; /* floats in a vector */
    int tile_rows, tile_columns;
    int block_terms; /* so many rows of tile_columns fit the first cache */

    /* c[rows,columns] (+)= a[rows,K] b[K,columns] for one tile: 1 <= rows <= tile_rows and
     * 1 <= columns <= tile_columns; a(i,p) = a[i*a_row + p*a_column]; b's rows are b_row floats
     * apart and can be read up to a whole number of vectors. Unless `accumulate`, c starts from
     * bias[columns], or 0 if NULL. If `ahead` is not NULL, K cache lines from there on are fetched
     * for later. */
    void (*tile)(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                 const float *b, size_t b_row, int K, int rows, int columns, const float *bias,
                 bool accumulate, const float *ahead);

    /* to[j,i] = from[i,j] for rows x columns elements; rows so many floats apart */
    void (*transpose)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                      int columns);

    /* to[i,j] = from[i,j], likewise; rows soon after those may be prefetched */
    void (*copy)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                 int columns);

    void (*dots)(float *y, const float *x, const float *w, size_t stride, int n, int K);
    /* y[j] = x . w_j */
    void (*combine)(float *y, const float *p, const float *w, size_t stride, int n, int K);
    /* y = sum_j p[j] w_j */

    /* y[columns] = x[K] w[K,columns] + bias, for a panel of weights that are bfloat16: columns <=
     * tile_columns, bias may be NULL; pairs[p/2,j] holds w[p,j] in its lower half and, as a whole,
     * is w[p+1,j]; in rows of whole vectors, zeros where there is none */
    void (*narrow)(float *y, const float *x, const uint32_t *pairs, int K, int columns,
                   const float *bias);

    /* p[i] = softmax(scale * x[i]) for rows of n >= 1 numbers, `row` floats apart in both; scale
     * > 0. lse[i] = ln(sum(exp(scale * x[i]))). p may be x. */
    void (*softmax)(float *p, size_t row, float *lse, const float *x, float scale, int rows, int n);
    /* ln(sum(exp(x))), n >= 1 */
    float (*log_sum_exp)(const float *x, int n);
    /* p = exp(scale * x - lse): softmax again, from the lse that it returned. p may be x. */
    void (*exponentials)(float *p, const float *x, float scale, float lse, int n);
    /* x = p (x - mean) scale: the backward of softmax, with mean = sum(p x). */
    void (*softmax_backward)(float *x, const float *p, float mean, float scale, int n);

    /* GELU in its tanh form (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016). */
    void (*gelu)(float *y, const float *x, size_t n);
    /* dx = dy gelu'(x), and gelu(x) once more in y; dx may be dy */
    void (*gelu_backward)(float *dx, float *y, const float *x, const float *dy, size_t n);

    /* y = (x - mean) rstd w + b over n channels; writes mean and rstd = 1/sqrt(variance+1e-5). */
    void (*normalize)(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int n);
    /* The same y, from the mean and rstd of then. */
    void (*normalize_again)(float *y, const float *x, float mean, float rstd, const float *w,
                            const float *b, int n);
    /* dx += the gradient in x; dw += dy (x - mean) rstd, db += dy, for one row */
    void (*normalize_backward)(float *dx, float *dw, float *db, const float *dy, const float *x,
                               float mean, float rstd, const float *w, int n);

    /* y = x rstd w over n channels; writes rstd = 1/sqrt(mean(x^2)+1e-6). And again, from it. */
    void (*rms_normalize)(float *y, float *rstd, const float *x, const float *w, int n);
    void (*rms_normalize_again)(float *y, const float *x, float rstd, const float *w, int n);
    /* dx += the gradient in x; dw += dy x rstd, for one row */
    void (*rms_normalize_backward)(float *dx, float *dw, const float *dy, const float *x,
                                   float rstd, const float *w, int n);

    /* y = gate s(gate) up, s the logistic function */
    void (*swiglu)(float *y, const float *gate, const float *up, size_t n);
    /* ... its gradients, and y once more; dgate may be dy */
    void (*swiglu_backward)(float *dgate, float *dup, float *y, const float *gate, const float *up,
                            const float *dy, size_t n);

    /* Turns the pairs (x[i], x[i + half]), i < half, by angles of these cosines and sines, or,
     * where `way` is -1 and not 1, back. y may be x. */
    void (*rotate)(float *y, const float *x, const float *cosine, const float *sine, float way,
                   int half);

    void (*blend)(float *y, float b, const float *x, float a,
                  size_t n);                                         /* y = b y + a x; x may be y */
    void (*add)(float *y, const float *x, size_t n);                 /* y += x */
    void (*sum)(float *y, const float *a, const float *b, size_t n); /* y = a + b */
    void (*dropout)(float *y, const float *x, DropoutRow mask, int n); /* y may be x */
    float (*dot)(const float *a, const float *b, size_t n);
    void (*adamw)(float *w, float *m, float *v, const float *dw, AdamW step, size_t n);
} Isa;

/* The tables that this processor can run, narrowest first; returns how many, at most ISA_MAX. */
enum { ISA_MAX = 4 };
int isa_available(const Isa *tables[ISA_MAX]);

/* The widest of them, or the one that the environment variable KERNELS names; NULL with a message
 * if there is none of that name. */
const Isa *isa_choose(Error *err);

/* ---- threads ----
 *
 * A team's threads run the same program side by side: a pass over a model starts them once. Each
 * has its own Kernels and takes its share of the rows, heads or channels of what is to be done.
 * Where one needs what another made, all wait for each other at a barrier, which costs well below
 * a microsecond on idle processors and gives way to other programs on busy ones. */

typedef struct Team Team;

typedef struct Products Products;

/* What one thread of a team computes with. */
typedef struct {
    const Isa *isa;
    const Products *products; /* in the precision that was chosen */
    Team *team;
    int thread, threads; /* 0 <= thread < threads */
    bool together;       /* all work on the same rows: see model/layers.h */
    /* the thread's own: parts of the two operands of a product, packed; what attention, or Muon,
     * needs */
    float *left, *right, *scratch;
} Kernels;

/* The processors that this program may use; 1 in a build without OpenMP. */
int team_processors(void);

/* Makes a team of at most `threads` >= 1, each with `scratch` floats. They are started by the first
 * team_run that wants them. */
bool team_open(Team **team, const Isa *isa, const Products *products, int threads, size_t scratch,
               Error *err);
void team_close(Team *team);

/* The floats that each thread then has in all. */
size_t team_scratch(size_t scratch);

/* Runs work(kernels, argument) on the first `threads` of the team's threads, and returns when all
 * have. The calling thread is one of them. */
void team_run(Team *team, int threads, void (*work)(const Kernels *k, void *argument),
              void *argument);

/* Waits until all threads at work have come here. What they wrote before is seen by all after. */
void team_barrier(const Kernels *k);

/* This thread's part, begin <= i < end, of `count` things, cut at multiples of `grain`. */
typedef struct {
    size_t begin, end;
} Share;
Share team_share(const Kernels *k, size_t count, size_t grain);

/* This thread's part of a matrix of rows x columns: of its longer side, for each thread packs what
 * it needs of the other by itself; cut at multiples of the two grains. */
typedef struct {
    int row, rows, column, columns;
} Part;
Part team_part(const Kernels *k, int rows, int columns, int row_grain, int column_grain);

/* ---- products ----
 *
 * No barriers inside: what a product reads must be whole before, and what it writes is whole for
 * other threads after the next barrier. The terms of every sum run in the same order whatever the
 * number of threads. */

/* A matrix as it lies in memory: element (i, j) is at[i * row + j * column]. Swapping the two
 * strides transposes it. */
typedef struct {
    const float *at;
    size_t row, column;
} Matrix;

/* A right operand b[K,N] that has been packed. */
typedef struct {
    const float *at;
    int K, N;
} Packed;

/* Products in one precision: outside all is float32; inside, operands are packed, and perhaps
 * rounded. Sums are float32. */
struct Products {
    const char *name;
    const Products *attention; /* what attention multiplies with: this table, or another */
    int rows; /* of a left operand that a product wants at least; 0: those of a register tile */
    /* the floats that a right operand b[K,N], one of whose strides is 1, takes when packed; packing
     * it, by the team */
    size_t (*packed_size)(const Isa *isa, int K, int N);
    void (*pack)(const Kernels *k, float *packed, Matrix b, int K, int N);
    /* c[M,N] = a[M,K] b[K,N] + bias[N], for the calling thread alone; c's rows are c_row floats
     * apart; bias may be NULL. Of b the first K <= b.K rows count, and `columns`, which begin at a
     * multiple of PRODUCT_GRAIN and may go beyond N to a whole number of vectors, where b is 0. */
    void (*multiply)(const Kernels *k, float *c, size_t c_row, Matrix a, Packed b, int M, int K,
                     const float *bias, Share columns);
    /* c[M,N] += a[M,K] b[K,N], with b as it lies, by the team, whose threads share c; one stride of
     * a and one of b is 1. If `sums` is not NULL, sums[i] += sum_p a(i,p); a is turned then (a.row
     * = 1). */
    void (*accumulate)(const Kernels *k, float *c, size_t c_row, Matrix a, Matrix b, int M, int N,
                       int K, float *sums);
};

enum { PRODUCT_GRAIN = 64 }; /* a multiple of every table's panels */

extern const Products float32_products;

/* Weights rounded to bfloat16, all else float32: half the memory to read, on any processor. For few
 * rows, and not for training: it has no `accumulate`. */
extern const Products narrow_products;

/* The tables of bfloat16 products that this processor can run, slowest first; returns how many, at
 * most BF16_MAX. */
enum { BF16_MAX = 2 };
int bf16_available(const Products *tables[BF16_MAX]);

/* Is it worth while to use them unasked? If there are any, and KERNELS asks for nothing else. */
bool bf16_advised(void);

/* The fastest of them; NULL with a message if there is none. */
const Products *bf16_choose(Error *err);

#endif
