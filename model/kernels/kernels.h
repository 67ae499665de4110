/* kernels.h - matrix products, the loops that use vector registers, and threads. Private to model/.
 *
 * isa.c is one source, compiled once for each instruction set: a register tile and the loops over
 * rows, without threads. choose.c picks the widest table that the processor runs. team.c has the
 * threads. matmul.c has what all tables share: packing, blocking, dividing work between threads.
 * bf16.c does the same with both factors rounded to bfloat16, on processors that multiply it;
 * bf16_weights.c and int8_weights.c with only the weights rounded, on any processor.
 *
 * Outside the products all arrays are row-major float32, owned by the caller. Kernels do not fail;
 * contracts are asserted. */
#ifndef TRIL_MODEL_KERNELS_KERNELS_H
#define TRIL_MODEL_KERNELS_KERNELS_H

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the loops of one instruction set ---- */

/* A dropout mask for one row: element j is kept, and multiplied by `scale`, if a hash of (key, j)
 * is below `threshold`. */
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

/* The loops of one instruction set. w_j below is row j of w[n,K], whose rows are `stride` floats
 * apart. Outputs must not overlap inputs unless a comment allows it. */
typedef struct Isa {
    const char *name;
    int lanes; /* floats in a vector */
    int tile_rows, tile_columns;
    int block_terms; /* terms in a block: as many rows of tile_columns as fit the L1 cache */

    /* c[rows,columns] = start + a[rows,K] b[K,columns] for one tile, 1 <= rows <= tile_rows and 1
       <= columns <= tile_columns. a(i,p) = a[i*a_row + p*a_column]. b's rows are b_row floats
       apart, and readable up to a whole number of vectors. Element (i,j) starts from
       start[i*start_row + j], from 0 if start is NULL, and adds its K terms in order. start may be
       c. If `ahead` is not NULL, K cache lines from there on are prefetched; so are the rows of c
       below the tile. */
    void (*tile)(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                 const float *b, size_t b_row, int K, int rows, int columns, const float *start,
                 size_t start_row, const float *ahead);

    /* The same for `count` whole tiles, each below the one before, with the same panel b, whose
       rows are tile_columns floats apart. From `ahead` to about `end`, cache lines are prefetched,
       one for two terms of a tile; none if `ahead` is `end`. */
    void (*tiles)(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                  const float *b, int K, int count, const float *start, size_t start_row,
                  const float *ahead, const float *end);

    /* to[j,i] = from[i,j] for rows x columns elements; to_row and from_row: floats from one row to
       the next; may prefetch the rows after these */
    void (*transpose)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                      int columns);

    /* to[i,j] = from[i,j], likewise; may prefetch the rows after these */
    void (*copy)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                 int columns);

    /* copy, and adds the rows to sums[columns], one after another */
    void (*copy_and_sum)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                         int columns, float *sums);

    /* copy, to panels of tile_columns columns, one after another: to[j rows + i tile_columns +
       k] = from[i,j + k] for every j that is a multiple of tile_columns, as `columns` must be */
    void (*copy_panels)(float *to, const float *from, size_t from_row, int rows, int columns);

    /* copy past the cache where the processor can, for numbers that are not read again soon: a
       line of memory need not be read before it is written */
    void (*copy_past_cache)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                            int columns);

    /* y[groups KEY_GROUP]: q[K] . each key. Keys lie in groups of KEY_GROUP, channel by channel:
       channel c of key i of a group is at c KEY_GROUP + i; groups are `stride` floats apart. Each
       sum adds its terms in order. */
    void (*scores)(float *y, const float *q, const float *keys, size_t stride, int groups, int K);
    /* y[heads,K]: for each head, the sum of n rows of v, weighted with p[heads,n], in order. p's
       rows are p_row floats apart, v's v_row. `group` heads in turn read the same K columns of v.
     */
    void (*means)(float *y, const float *p, size_t p_row, const float *v, size_t v_row, int n,
                  int K, int heads, int group);

    /* y[columns] = x[K] w[K,columns] + bias for a panel of bfloat16 weights. columns <=
       tile_columns; bias may be NULL. pairs[p/2,j] has w[p,j] in its lower half; as a whole it is
       w[p+1,j]. Rows of pairs are whole vectors, padded with 0 */
    void (*bf16_gemv)(float *y, const float *x, const uint32_t *pairs, int K, int columns,
                      const float *bias);

    /* y[columns] = start + scale scales[j] (x[K] . column j), the weights of 8 bits in panels of
       INT8_PANEL columns, zeros beyond the last; so are the scales. start may be NULL, or y. Of
       term p and column j of a panel, w has the number at p / 2 * 2 INT8_PANEL + 2 j + p % 2, and
       zeros beyond an odd K. The sums must fit 32 bits: then they are exact. */
    void (*int8_gemv)(float *y, const int16_t *x, float scale, const int8_t *w, const float *scales,
                      int K, int columns, const float *start);
    /* y[n] = x[n] / scale, rounded to whole numbers from -limit to limit; returns the scale. An odd
       n is followed by a 0. If x has an infinity or a NaN, so is the scale. */
    float (*round_to_16)(int16_t *y, const float *x, int limit, int n);

    /* p = softmax(scale * x) for each of `rows` rows of n >= 1 numbers, `row` floats apart in both;
       scale > 0. lse[i] = ln(sum(exp(scale * x))) of row i; lse may be NULL. p may be x. */
    void (*softmax)(float *p, size_t row, float *lse, const float *x, float scale, int rows, int n);
    /* ln(sum(exp(x))), n >= 1 */
    float (*log_sum_exp)(const float *x, int n);
    /* The backward of softmax for the same rows. p comes with what softmax's x was, and becomes its
       result again: p = exp(scale * p - lse). x = p (x - mean) scale, with mean[i] = sum(p x) of
       row i. */
    void (*softmax_backward)(float *x, float *p, size_t row, const float *lse, const float *mean,
                             float scale, int rows, int n);
    /* x = -infinity in row i from column n + i * more on, up to `columns`, a whole number of
       vectors: its exponential is 0 */
    void (*mask)(float *x, size_t row, int rows, int n, int more, int columns);

    /* GELU in its tanh form (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016). */
    void (*gelu)(float *y, const float *x, size_t n);
    /* dx = dy gelu'(x), y = gelu(x); dx may be dy */
    void (*gelu_backward)(float *dx, float *y, const float *x, const float *dy, size_t n);

    /* y = (x - mean) rstd w + b over n channels; writes mean and rstd = 1/sqrt(variance+1e-5) */
    void (*normalize)(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int n);
    /* the same y, from the saved mean and rstd */
    void (*normalize_recompute)(float *y, const float *x, float mean, float rstd, const float *w,
                                const float *b, int n);
    /* dx += the gradient of x; dw += dy (x - mean) rstd, db += dy, for one row */
    void (*normalize_backward)(float *dx, float *dw, float *db, const float *dy, const float *x,
                               float mean, float rstd, const float *w, int n);

    /* y = x rstd w over n channels; writes rstd = 1/sqrt(mean(x^2)+1e-6). _again: from the saved
       rstd */
    void (*rms_normalize)(float *y, float *rstd, const float *x, const float *w, int n);
    void (*rms_normalize_recompute)(float *y, const float *x, float rstd, const float *w, int n);
    /* dx += the gradient of x; dw += dy x rstd, for one row */
    void (*rms_normalize_backward)(float *dx, float *dw, const float *dy, const float *x,
                                   float rstd, const float *w, int n);

    /* y = gate s(gate) up, s the logistic function */
    void (*swiglu)(float *y, const float *gate, const float *up, size_t n);
    /* its gradients, and y recomputed; dgate may be dy */
    void (*swiglu_backward)(float *dgate, float *dup, float *y, const float *gate, const float *up,
                            const float *dy, size_t n);

    /* Rotates the pairs (x[i], x[i + half]), i < half, by the angles with cosine[half] and
       sine[half]; back if `way` is -1, not 1. y may be x. */
    void (*rotate)(float *y, const float *x, const float *cosine, const float *sine, float way,
                   int half);

    /* y = x_0 + sum_(k < K) taps_k x_k over n channels: x_k is k * `next` floats after x, row k of
       taps k * `row`. Each number is one chain of multiply-adds, in the order of k. */
    void (*convolve)(float *y, const float *x, ptrdiff_t next, const float *taps, size_t row, int K,
                     int n);
    /* dtaps_k += sum_t dy_t x_(t-k) over n channels, k < K and 0 <= t < tokens: rows of all three
       are `row` floats apart, and dy and x point to row 0. Each number is one chain of
       multiply-adds, in the order of t. */
    void (*convolve_gradients)(float *dtaps, const float *dy, const float *x, size_t row,
                               int tokens, int K, int n);

    void (*axpby)(float *y, float b, const float *x, float a,
                  size_t n);                                         /* y = b y + a x; x may be y */
    void (*add)(float *y, const float *x, size_t n);                 /* y += x */
    void (*sum)(float *y, const float *a, const float *b, size_t n); /* y = a + b */
    void (*dropout)(float *y, const float *x, DropoutRow mask, int n); /* y may be x */
    float (*dot)(const float *a, const float *b, size_t n);
    /* one step for n weights; m and v are their first and second moments */
    void (*adamw)(float *w, float *m, float *v, const float *dw, AdamW step, size_t n);
} Isa;

enum { KEY_GROUP = 16, INT8_PANEL = 64 }; /* multiples of the lanes of every table */

/* `n` floats, up to a whole number of vectors. */
static inline size_t whole_vectors(const Isa *isa, int n) {
    size_t lanes = (size_t)isa->lanes; /* a power of two */
    return ((size_t)n + lanes - 1) & ~(lanes - 1);
}

/* The tables that this processor runs, narrowest first. Returns how many, at most ISA_MAX. The
 * tables are constants. */
enum { ISA_MAX = 4 };
int isa_available(const Isa *tables[ISA_MAX]);

/* The widest of them, or the one that the environment variable KERNELS names. NULL with a message
 * if there is none of that name. */
const Isa *isa_choose(Error *err);

/* ---- threads ----
 *
 * The threads of a team execute the same function together; a pass over a model starts them once.
 * Each has its own Thread and computes its share of the rows, heads or channels. Before one thread
 * uses what another wrote, all wait for each other at a barrier. A barrier costs well below a
 * microsecond on idle processors; on busy ones it lets other programs run. */

typedef struct Team Team;

typedef struct Products Products;

/* The context of one thread of a team. */
typedef struct {
    const Isa *isa;
    const Products *products; /* in the chosen precision */
    Team *team;
    int index, count; /* 0 <= index < count */
    /* the thread's own: packed parts of the two operands of a product; scratch for attention and
       Muon */
    float *left, *right, *scratch;
} Thread;

/* Makes a team of at most `threads` >= 1 threads, each with `scratch` floats of scratch. The first
 * team_run that needs them starts them. team_close releases the team; NULL is allowed. Refused: no
 * memory; *team is then NULL. */
bool team_open(Team **team, const Isa *isa, const Products *products, int threads, size_t scratch,
               Error *err);
void team_close(Team *team);

/* The memory of one thread of such a team, in floats, with its packed operands. */
size_t team_scratch(size_t scratch);

/* Calls work(thread, argument) in the first `threads` threads of the team, the calling thread among
 * them, and returns when all have returned. 1 <= threads <= the team's. The system may give fewer:
 * Thread.count says how many there are. */
void team_run(Team *team, int threads, void (*work)(const Thread *thread, void *argument),
              void *argument);

/* Waits until all threads of the current team_run have called it. What each wrote before, all see
 * afterwards. */
void team_barrier(const Thread *thread);

/* This thread's share, begin <= i < end, of `count` items, cut at multiples of `grain`. */
typedef struct {
    size_t begin, end;
} Share;
Share team_share(const Thread *thread, size_t count, size_t grain);

/* The items of `count` that a thread computes, one after another: its share, and then, where
 * `taken` is not NULL, what slower threads have left of theirs. taken[threads] has the number of
 * items taken from the share of each thread: 0 at first. Any thread may then compute any item. */
typedef struct {
    const Thread *thread;
    atomic_int *taken;
    size_t count;
    int share;        /* the thread whose share it takes from */
    size_t own_taken; /* without `taken` */
} Items;
Items team_items(const Thread *thread, size_t count, atomic_int *taken);

/* Sets *item to the next one; false if there are no more. */
bool team_next(Items *items, size_t *item);

/* Divides the team's work into two. With an even number of threads one half of them does each part;
 * otherwise all do one part after the other. Sets *member to this thread as a member of those that
 * do the part; false if it is not one of them. A member must not meet others at a barrier, since
 * the team is the whole one. */
bool team_half(const Thread *thread, int part, Thread *member);

/* This thread's part of a matrix of rows x columns. The threads form the grid in which the slowest
 * multiplies and packs the least: each thread packs both operands of its part for itself. Parts are
 * cut at multiples of each side's grain; they cover the matrix once. A thread may have none. */
typedef struct {
    int row, rows, column, columns;
} Part;
Part team_part(const Thread *thread, int rows, int columns, int row_grain, int column_grain);

/* ---- products ----
 *
 * Products have no barriers inside. A barrier must come before them if other threads wrote their
 * inputs, and after them before other threads read their results. The terms of every sum are added
 * in the same order at any number of threads. */

/* A matrix in memory: element (i, j) is at[i * row + j * column]. Swapping the two strides
 * transposes it. Borrowed. */
typedef struct {
    const float *at;
    size_t row, column;
} Matrix;

/* A packed right operand b[K,N]. Borrowed. */
typedef struct {
    const float *at;
    int K, N;
} Packed;

/* Products in one precision. Operands and results are float32; packing may round operands. Sums are
 * float32. */
struct Products {
    const char *name;
    const Products *attention; /* the table that attention uses: this or another */
    bool rounds;               /* operands to bfloat16 */
    int rows; /* the fewest rows of a left operand for an efficient product; 0: those of a register
                 tile */
    /* packed_size: the floats of a packed right operand b[K,N]. pack: packs it, by the team; one
       stride of b is 1 */
    size_t (*packed_size)(const Isa *isa, int K, int N);
    void (*pack)(const Thread *thread, float *packed, Matrix b, int K, int N);
    /* c[M,N] = a[M,K] b[K,N] + bias[N], by the calling thread alone. c's rows are c_row floats
       apart; bias may be NULL. Only the first K <= b.K rows of b count, and only `columns`: they
       begin at a multiple of PRODUCT_GRAIN and may go beyond N to a whole number of vectors, where
       b is 0. */
    void (*multiply)(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b, int M, int K,
                     const float *bias, Share columns);
    /* The same without a bias, for a result c[N,N] that is known to be symmetric: computes the
       numbers on and above the diagonal. Some below it are overwritten. a.column is 1 */
    void (*multiply_upper)(const Thread *thread, float *c, size_t c_row, Matrix a, Packed b);
    /* c[M,N] += a[M,K] b[K,N], by the team; b is not packed. One stride of a and one of b is 1. If
       `sums` is not NULL, sums[i] += sum_p a(i,p), and a must be transposed (a.row = 1). `anew`: c
       and sums begin from 0, whatever is there. */
    void (*accumulate)(const Thread *thread, float *c, size_t c_row, Matrix a, Matrix b, int M,
                       int N, int K, float *sums, bool anew);
};

enum { PRODUCT_GRAIN = 64 }; /* a multiple of the panel width of every table */

extern const Products float32_products;

/* Weights rounded to bfloat16, all else float32: half the memory traffic, on any processor. For few
 * rows. Not for training: `multiply_upper` and `accumulate` are NULL. */
extern const Products bf16_weight_products;

/* Weights rounded to 8 bits, with a scale for each row of the weights; the left operand is rounded
 * to 16 bits. The same bits on every machine. Likewise for few rows, and not for training. */
extern const Products int8_weight_products;

/* The tables of bfloat16 products that this processor runs, slowest first. Returns how many, at
 * most BF16_MAX. The tables are constants. */
enum { BF16_MAX = 2 };
int bf16_available(const Products *tables[BF16_MAX]);

/* Should they be the default? True if there are any and KERNELS names no other instruction set. */
bool bf16_advised(void);

/* The fastest of them. NULL with a message if there is none. */
const Products *bf16_choose(Error *err);

#endif
