/* products.h - matrix products. Private to model/.
 *
 * matmul.c multiplies float32; bf16.c rounds both factors to bfloat16, on processors that multiply
 * it; int8.c rounds the weights to 8 bits, on any processor.
 *
 * Products have no barriers inside. A barrier must come before them if other threads wrote their
 * inputs, and after them before other threads read their results. The terms of every sum are added
 * in the same order at any number of threads. Contracts are asserted. */
#ifndef TRIL_MODEL_KERNELS_PRODUCTS_H
#define TRIL_MODEL_KERNELS_PRODUCTS_H

#include "model/kernels/team.h"

/* A packed right operand b[K,N]. Borrowed. */
typedef struct {
    const float *at;
    int K, N;
} Packed;

/* Products in one precision. Operands, sums and results are float32; packing may round operands. */
struct Products {
    const char *name;
    const Products *attention; /* the table that attention uses: this or another */
    bool rounds;               /* rounds operands to bfloat16 */
    int rows; /* with AMX: the fewest rows of a left operand for an efficient product. Other tables
                 need those of a register tile */
    /* packed_size: the floats of a packed right operand b[K,N]. pack: packs it, by the team; one
       stride of b is 1 */
    size_t (*packed_size)(const Isa *isa, int K, int N);
    void (*pack)(const Thread *thread, float *packed, Matrix b, int K, int N);
    /* c[M,N] = a[M,K] b[K,N] + bias[N], by the calling thread alone. The rows of c and of
       a are c_row and a_row floats apart; bias may be NULL. Only the first K <= b.K rows of b
       count, and only the first `columns`, which may go beyond N to a whole number of vectors,
       where b is 0. No Matrix: gcc stores such a struct in halves and loads it whole, for which a
       processor waits */
    void (*multiply)(const Thread *thread, float *c, size_t c_row, const float *a, size_t a_row,
                     Packed b, int M, int K, const float *bias, int columns);
    /* multiply without a bias, for a result c[N,N] that is known to be symmetric: computes the
       numbers on and above the diagonal. Some below it are overwritten */
    void (*multiply_upper)(const Thread *thread, float *c, size_t c_row, const float *a,
                           size_t a_row, Packed b);
    /* c[M,N] += a[M,K] b[K,N], by the team; b is not packed. One stride of a and one of b is 1. If
       `sums` is not NULL, sums[i] += sum_p a(i,p), and a must be transposed (a.row_stride = 1).
       With `anew`, c and sums begin from 0, whatever they contain. */
    void (*accumulate)(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew);
};

enum {
    MATMUL_TERMS = 256,   /* the most terms in a block; with bfloat16 numbers, twice that */
    MATMUL_COLUMNS = 512, /* columns of the right operand that are packed at a time; a multiple of
                             every tile's columns */
    MATMUL_STRIP = 96,    /* rows of a transposed left operand that are packed at a time; a multiple
                             of every tile's rows and of every vector's lanes */
    MATMUL_ROWS = 288     /* the same with bfloat16 numbers, which are packed transposed or not */
};

extern const Products float32_products;

/* Weights rounded to 8 bits, with a scale for each row of the weights; the left operand is rounded
 * to 16 bits. Gives the same bits on every machine. For few rows. Not for training: has no
 * `multiply_upper` and no `accumulate`. */
extern const Products int8_weight_products;

/* Sets `tables` to the bfloat16 products that this processor runs, slowest first. Returns their
 * number, at most BF16_MAX. The tables are constants. */
enum { BF16_MAX = 2 };
int bf16_available(const Products *tables[BF16_MAX]);

#if defined __x86_64__ && defined __linux__
/* Those tables, of bf16.c: there is no code that a processor without AVX-512 could run. */
extern const Products bf16_avx512, bf16_amx;
#endif

/* Returns the fastest of them; NULL with a message if there is none. */
const Products *bf16_choose(Error *err);

/* Returns true if that is faster than float32: with AMX, or on a processor by AMD. On Intel's, the
 * instructions of AVX512-BF16 are slower. */
bool bf16_pays(void);

#endif
