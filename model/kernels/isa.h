/* isa.h - the loops that use vector registers, in a table for each instruction set. Private to
 * model/.
 *
 * isa.c is one source, compiled once for each set; choose.c picks the widest table that the
 * processor runs. Arrays are row-major float32, owned by the caller. Loops do not fail. */
#ifndef TRIL_MODEL_KERNELS_ISA_H
#define TRIL_MODEL_KERNELS_ISA_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A borrowed matrix: element (i, j) is at[i * row_stride + j * column_stride]. Swapping the strides
 * transposes it. */
typedef struct {
    const float *at;
    size_t row_stride, column_stride;
} Matrix;

static inline Matrix matrix_at(Matrix m, int row, int column) {
    return (Matrix){m.at + (size_t)row * m.row_stride + (size_t)column * m.column_stride,
                    m.row_stride, m.column_stride};
}

/* A part of c = start + a b. The rows of c, b and start are c_row, b_row and start_row floats
 * apart. Element (i,j) starts from start[i start_row + j], from 0 if start is NULL, and adds its K
 * terms in order. start may be c. */
typedef struct {
    float *c;
    size_t c_row;
    Matrix a;
    const float *b;
    size_t b_row;
    const float *start;
    size_t start_row;
    int K;
} Tile;

/* Returns the rows of the next tile, if `left` remain: `most`, 4, 2 or 1. Tiles of other heights
 * would be needed seldom, and take half as long again to compile. */
static inline int some_rows(int most, int left) {
    return left >= most ? most : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

static inline void tile_lower(Tile *t, int rows) {
    t->c += (size_t)rows * t->c_row;
    t->a.at += (size_t)rows * t->a.row_stride;
    if (t->start) t->start += (size_t)rows * t->start_row;
}

/* A dropout mask for a row: element j is kept, times `scale`, if a hash of (key, j) is below
 * `threshold`. */
typedef struct {
    uint64_t key;
    uint32_t threshold; /* keep probability * (2^32 - 1) */
    float scale;        /* 1 / keep probability */
} DropoutRow;

typedef struct {
    float rate;   /* the share of elements set to 0 */
    uint64_t key; /* names the mask (base/random.h) */
    size_t first; /* rows of the mask before this process's part; in a head, before its queries */
} Dropout;

/* The operands of attention (attention.h): all heads of a batch, or one head of one sequence. */
typedef struct {
    const float *q, *k, *v; /* at the first token */
    float *out, *lse;       /* written forward; the backward reads them, and has the rest */
    const float *dout;
    float *dq, *dk, *dv;
    size_t q_row, k_row, v_row, out_row; /* floats from one token to the next */
    int B, T;                            /* sequences; the tokens in each */
    int NH, NKV;                         /* heads of queries; of keys and values: NKV divides NH */
    int hs, vs; /* channels of a head in queries and keys; in values, where they may differ */
    float scale;
    bool adds; /* attend_backward adds to dk and dv instead of writing them */
    Dropout dropout;
} Attention;

enum { SEQUENCE_TOKENS = 128, SEQUENCE_CHANNELS = 64 };

/* One step of AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019). */
typedef struct {
    float learning_rate, beta1, beta2, epsilon, decay;
    float correction1, correction2; /* 1 - beta^step */
    float gradient_scale;           /* the factor of clipping */
} AdamW;

enum { KEY_GROUP = 16, INT8_PANEL = 64 }; /* multiples of the lanes of every table */
enum { NEAR_NUMERATORS = 1024 };

/* Returns the bytes of a panel of INT8_PANEL columns with K weights of 8 bits each. It begins with
 * -128 times the sum of each column, of 32 bits. Then term p of column j is at p / 2 * 2 INT8_PANEL
 * + 2 j + p % 2; with vnni, at p / 4 * 4 INT8_PANEL + 4 j + p % 4. Terms from K on are 0. */
static inline size_t int8_panel_size(int K) {
    return (size_t)((K + 7) / 4 * 4) * INT8_PANEL;
}

/* Outputs must not overlap inputs unless a comment allows it. to_row and from_row are the floats
 * from one row to the next. */
typedef struct Isa {
    const char *name;
    bool vnni; /* int8_rows uses the products of bytes of AVX-VNNI or AVX512-VNNI */
    int lanes; /* floats in a vector */
    int tile_rows, tile_columns;
    int block_terms; /* terms in a block: as many rows of tile_columns as fit the L1 cache */

    /* Computes all tiles of `rows` rows and one panel b: 1 <= columns <= tile_columns. b is
       readable up to a whole number of vectors; in whole panels, b_row is tile_columns. Prefetches
       the cache lines from `ahead` to about `end`, one for every one or two terms of a tile; none
       if `ahead` is `end`. */
    void (*panel)(const Tile *t, int rows, int columns, const float *ahead, const float *end);

    /* to[j,i] = from[i,j] for rows x columns elements; may prefetch the rows after these */
    void (*transpose)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                      int columns);
    /* to[i,j] = from[i,j], likewise */
    void (*copy)(float *to, size_t to_row, const float *from, size_t from_row, int rows,
                 int columns);
    /* sums[columns] += the rows of x, one after another */
    void (*add_rows)(float *sums, const float *x, size_t row, int rows, int columns);
    /* copies to panels of tile_columns columns, one after another: to[j rows + i tile_columns + k]
       = from[i,j + k] for every j that is a multiple of tile_columns, as `columns` must be */
    void (*copy_panels)(float *to, const float *from, size_t from_row, int rows, int columns);

    /* y[heads,groups KEY_GROUP] = the dot product of each q[heads,K] and each key. y's rows are
       y_row floats apart. Keys lie in groups of KEY_GROUP, which are `stride` floats apart, and
       within a group channel by channel: channel c of key i is at c KEY_GROUP + i. Each sum adds
       its terms in order. */
    void (*scores)(float *y, size_t y_row, const float *q, const float *keys, size_t stride,
                   int groups, int K, int heads);
    /* y[heads,K] += for each head, the sum of n rows of v, weighted with p[heads,n], in order. p's
       rows are p_row floats apart, v's v_row. `group` heads in turn read the same columns of v. */
    void (*means)(float *y, const float *p, size_t p_row, const float *v, size_t v_row, int n,
                  int K, int heads, int group);

    /* y[columns] = start + scale scales[j] (x[K] . column j) for each of `rows` rows of x, as many
       as some_rows gives for tile_rows, each with its own `scale`. start may be NULL, or y. The
       weights w and their scales lie in panels, with zeros beyond the last column; x is as
       round_to_16 writes it. The sums must fit 32 bits: then they are exact. */
    void (*int8_rows)(bool vnni, float *y, size_t y_row, const int16_t *x, size_t x_row,
                      const float *scale, int rows, const int8_t *w, const float *scales, int K,
                      int columns, const float *start, size_t start_row);
    /* y[n] = x[n] / scale, rounded to whole numbers from -limit to limit; returns the scale. If x
       contains an infinity or a NaN, the scale is not finite. Pads y with 0 to whole vectors. With
       vnni, each four numbers are four upper bytes, then four lower ones, of the numbers + 2^15. */
    float (*round_to_16)(bool vnni, int16_t *y, const float *x, int limit, int n);

    /* p = softmax(scale * x) for each of `rows` rows of n >= 1 numbers, `row` floats apart in both;
       scale > 0. lse[i] = ln(sum(exp(scale * x))) of row i; lse may be NULL. p may be x. */
    void (*softmax)(float *p, size_t row, float *lse, const float *x, float scale, int rows, int n);
    /* p[i] = exp((x[i] - max(x)) / temperature) for n finite numbers, with the same bits in every
       table; returns their sum, in order */
    double (*numerators)(double *p, const float *x, double temperature, int n);
    /* p[i] = exp((x[i] - max(x)) times) in float32 for n finite numbers; returns their sum. If n is
       at most NEAR_NUMERATORS, a sum of some of them divided by that one errs by less than 2^-17 */
    float (*near_numerators)(float *p, const float *x, float times, int n);
    /* The backward of softmax for the same rows. On entry p has softmax's input, on return its
     * result: p = exp(scale * p - lse). x = p (x - mean) scale, with mean[i] = sum(p x) of row i.
     */
    void (*softmax_backward)(float *x, float *p, size_t row, const float *lse, const float *mean,
                             float scale, int rows, int n);
    /* x = -infinity in row i from column n + i on, up to `columns`, a whole number of vectors: its
       exponential is 0 */
    void (*mask)(float *x, size_t row, int rows, int n, int columns);

    /* Attention of one head over a short sequence, causal, and its gradients; no scratch. T <=
       SEQUENCE_TOKENS; hs and vs are multiples of 4, at most SEQUENCE_CHANNELS. The bits are those
       of products and softmax. Both prefetch as many tokens of `next`, which is no shorter and has
       the same strides and channels; `of` itself is not prefetched. NULL in kernels of plain C */
    void (*attend)(const Attention *of, const Attention *next);
    void (*attend_backward)(const Attention *of, const Attention *next);

    /* GELU in its tanh form (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016). */
    void (*gelu)(float *y, const float *x, size_t n);
    /* dx = dy gelu'(x), y = gelu(x); dx may be dy */
    void (*gelu_backward)(float *dx, float *y, const float *x, const float *dy, size_t n);
    /* y = gate s(gate) up, s the logistic function */
    void (*swiglu)(float *y, const float *gate, const float *up, size_t n);
    /* its gradients, and y recomputed; dgate may be dy */
    void (*swiglu_backward)(float *dgate, float *dup, float *y, const float *gate, const float *up,
                            const float *dy, size_t n);

    /* LayerNorm of `rows` rows of n channels, one after another: y = (x - mean) rstd w + b; writes
       mean and rstd = 1/sqrt(variance+1e-5) of each. RMSNorm, whose b and db are NULL: y = x rstd
       w, with rstd = 1/sqrt(mean(x^2)+1e-6); mean is not used. */
    void (*normalize)(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int rows, int n);
    /* dx += the gradient of x, dw += dy (x - mean) rstd (RMSNorm: dy x rstd), db += dy, row by row
     */
    void (*normalize_backward)(float *dx, float *dw, float *db, const float *dy, const float *x,
                               const float *mean, const float *rstd, const float *w, int rows,
                               int n);

    /* Rotates the pairs (x[i], x[i + half]), i < half, by `way`, 1 or -1, times the angles with
       cosine[half] and sine[half]. y may be x. */
    void (*rotate)(float *y, const float *x, const float *cosine, const float *sine, float way,
                   int half);

    /* y = x_0 + sum_(k < K) taps_k x_k over n channels: x_k is k * `next` floats after x, row k of
       taps k * `row`. Each number is one chain of multiply-adds, in the order of k. */
    void (*convolve)(float *y, const float *x, ptrdiff_t next, const float *taps, size_t row, int K,
                     int n);
    /* dtaps_k += sum_t dy_t x_(t-k) over n channels, k < K and 0 <= t < tokens: rows of all three
       are `row` floats apart, and dy and x point to row 0. Each sum is one chain, by rising t. */
    void (*convolve_gradients)(float *dtaps, const float *dy, const float *x, size_t row,
                               int tokens, int K, int n);

    void (*dropout)(float *y, const float *x, DropoutRow mask, int n); /* y may be x */
    void (*sum)(float *y, const float *a, const float *b, size_t n); /* y = a + b; may be either */
    /* y = b y + a x; x may be y */
    void (*axpby)(float *y, float b, const float *x, float a, size_t n);
    float (*dot)(const float *a, const float *b, size_t n);
    /* one step for n weights; m and v are their first and second moments */
    void (*adamw)(float *w, float *m, float *v, const float *dw, AdamW step, size_t n);
} Isa;

/* Rounds `n` floats up to a whole number of vectors. */
static inline size_t whole_vectors(const Isa *isa, int n) {
    size_t lanes = (size_t)isa->lanes; /* a power of two */
    return ((size_t)n + lanes - 1) & ~(lanes - 1);
}

extern const Isa isa_base; /* runs on every processor */

/* Sets `tables` to those that this processor runs, narrowest first. Returns their number, at most
 * ISA_MAX. The tables are constants. */
enum { ISA_MAX = 5 };
int isa_available(const Isa *tables[ISA_MAX]);

/* Returns the widest of them, or the one that the environment variable KERNELS names. NULL with a
 * message if there is none of that name. */
const Isa *isa_choose(Error *err);

#endif
