/* attention.c - each token asks those before it, and takes a weighted mean of their values.
 *
 * One task is one head of one sequence; threads share out the tasks. Scores are made for a few
 * queries at a time, as many as a product's tile has rows, live in the thread's scratch for as long
 * as these need them, and are then forgotten: memory grows with T, not with T x T. Of the masked
 * half no more is computed than what completes a tile. */
#include "model/layers.h"
#include "model/dropout.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where one task's head lies. */
typedef struct {
    const float *q, *key, *v, *out, *dout; /* its first token */
    size_t lse;                            /* the number of its first query */
    size_t mask;                           /* ... and of that one's row of dropout's mask */
} Head;

static Head head_of(const Attention *a, size_t task, const float *q, const float *key,
                    const float *v, const float *out, const float *dout) {
    size_t T = (size_t)a->T, S = (size_t)a->past + T;
    size_t batch = task / (size_t)a->NH, head = task % (size_t)a->NH;
    size_t of_v = head * (size_t)a->dv, of_k = head * (size_t)a->dk;
    size_t of_out = batch * T * a->out_row + of_v;
    return (Head){.q = q + batch * T * a->q_row + of_k,
                  .key = key + batch * S * a->k_row + of_k,
                  .v = v + batch * S * a->v_row + of_v,
                  .out = out + of_out,
                  .dout = dout ? dout + of_out : NULL,
                  .lse = task * T,
                  .mask = a->dropout.first * (size_t)a->NH + task * T};
}

/* How many keys query t sees. */
static int seen(const Attention *a, int t) {
    return a->past + (a->causal ? t + 1 : a->T);
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static int whole_vectors(const Isa *isa, int n) {
    return (n + isa->lanes - 1) / isa->lanes * isa->lanes;
}

/* Queries whose scores are made at a time. */
static int rows_of(const Isa *isa, const Products *products) {
    return products->rows ? products->rows : isa->tile_rows;
}

/* Queries whose scores are kept together backward: whole products of them, two dozens or more. */
static int block_of(const Isa *isa, const Products *products) {
    int rows = rows_of(isa, products);
    return (23 + rows) / rows * rows;
}

size_t attention_room(const Isa *isa, const Products *products, int T, int dk, int dv) {
    const Products *of = products->attention;
    size_t forward = of->packed_size(isa, dk, T) + of->packed_size(isa, T, dv);
    size_t backward =
        of->packed_size(isa, dk, T) + of->packed_size(isa, dv, T) + of->packed_size(isa, T, dk);
    size_t scores = (size_t)block_of(isa, of) * (size_t)whole_vectors(isa, T);
    return (forward > backward ? forward : backward) + 2 * scores;
}

/* What a thread works on a head with: by itself, in the precision of attention. */
static Kernels alone(const Kernels *k) {
    Kernels own = *k;
    own.products = k->products->attention;
    own.thread = 0;
    own.threads = 1;
    return own;
}

/* Masks the scores from n on to the end of a whole number of vectors, `columns`: their exponential
 * is 0, and no loop over the row has a remainder. */
static void mask_row(float *scores, int n, int columns) {
    for (int s = n; s < columns; s++) scores[s] = -INFINITY;
}

/* ---- forward ---- */

/* One query alone, as in generation: its keys and values are read where they lie. */
static void forward_row(const Kernels *k, float *out, float *lse, const Head *at, int t,
                        const Attention *a) {
    const Isa *isa = k->isa;
    float *att = k->scratch;
    int n = seen(a, t);
    isa->dots(att, at->q + (size_t)t * a->q_row, at->key, a->k_row, n, a->dk);
    isa->softmax(att, 0, lse, att, a->scale, 1, n);
    if (a->dropout.rate > 0)
        isa->dropout(att, att, dropout_row(a->dropout, at->mask + (size_t)t), n);
    isa->combine(out, att, at->v, a->v_row, n, a->dv);
}

static void forward_head(const Kernels *k, float *out, float *lse, const Head *at,
                         const Attention *a) {
    const Isa *isa = k->isa;
    const Products *products = k->products;
    int S = a->past + a->T, strip = rows_of(isa, products);
    size_t row = (size_t)whole_vectors(isa, S);
    float *keys = k->scratch, *values = keys + products->packed_size(isa, a->dk, S);
    float *att = values + products->packed_size(isa, S, a->dv);
    products->pack(k, keys, (Matrix){at->key, 1, a->k_row}, a->dk, S);
    products->pack(k, values, (Matrix){at->v, a->v_row, 1}, S, a->dv);
    Packed turned = {keys, a->dk, S}, plain = {values, S, a->dv};
    for (int t = 0; t < a->T; t += strip) {
        int rows = smaller(strip, a->T - t), most = seen(a, t + rows - 1);
        int columns = whole_vectors(isa, most);
        Matrix q = {at->q + (size_t)t * a->q_row, a->q_row, 1}, weights = {att, row, 1};
        products->multiply(k, att, row, q, turned, rows, a->dk, NULL, (Share){0, (size_t)columns});
        for (int i = 0; i < rows; i++) mask_row(att + (size_t)i * row, seen(a, t + i), columns);
        isa->softmax(att, row, lse + t, att, a->scale, rows, columns);
        for (int i = 0; i < rows && a->dropout.rate > 0; i++) {
            float *of = att + (size_t)i * row;
            size_t query = at->mask + (size_t)(t + i);
            isa->dropout(of, of, dropout_row(a->dropout, query), seen(a, t + i));
        }
        products->multiply(k, out + (size_t)t * a->out_row, a->out_row, weights, plain, rows, most,
                           NULL, (Share){0, (size_t)a->dv});
    }
}

void attention_forward(const Kernels *k, float *out, float *lse, const float *q, const float *key,
                       const float *v, const Attention *a) {
    enum { FEW = 3 }; /* queries for which packing the keys is not worth it */
    assert(a->past == 0 || a->B == 1);
    Share tasks = team_share(k, (size_t)a->B * (size_t)a->NH, 1);
    Kernels own = alone(k);
    for (size_t task = tasks.begin; task < tasks.end; task++) {
        Head at = head_of(a, task, q, key, v, out, NULL);
        float *to = out + (at.out - out);
        if (a->T > FEW)
            forward_head(&own, to, lse + at.lse, &at, a);
        else
            for (int t = 0; t < a->T; t++)
                forward_row(k, to + (size_t)t * a->out_row, lse + at.lse + t, &at, t, a);
    }
}

/* ---- backward ---- */

/* What the thread's scratch holds of a head: its operands, and the scores of a block of queries. */
typedef struct {
    Packed keys_turned, values_turned, keys;
    float *att, *dscores;
    size_t row; /* of the scores */
} Operands;

static Operands pack_head(const Kernels *k, const Head *at, const Attention *a) {
    const Isa *isa = k->isa;
    const Products *products = k->products;
    float *turned = k->scratch, *values = turned + products->packed_size(isa, a->dk, a->T);
    float *keys = values + products->packed_size(isa, a->dv, a->T);
    size_t row = (size_t)whole_vectors(isa, a->T);
    float *att = keys + products->packed_size(isa, a->T, a->dk);
    products->pack(k, turned, (Matrix){at->key, 1, a->k_row}, a->dk, a->T);
    products->pack(k, values, (Matrix){at->v, 1, a->v_row}, a->dv, a->T);
    products->pack(k, keys, (Matrix){at->key, a->k_row, 1}, a->T, a->dk);
    return (Operands){.keys_turned = {turned, a->dk, a->T},
                      .values_turned = {values, a->dv, a->T},
                      .keys = {keys, a->T, a->dk},
                      .att = att,
                      .dscores = att + (size_t)block_of(isa, products) * row,
                      .row = row};
}

/* Of some queries from t on, `above` rows into the block: att again, what the loss thinks of the
 * scores, and from that dq. */
static void backward_queries(const Kernels *k, float *dq, const Operands *o, const Head *at,
                             const float *lse, int t, int rows, int above, int widest,
                             const Attention *a) {
    const Isa *isa = k->isa;
    float *att = o->att + (size_t)above * o->row, *datt = o->dscores + (size_t)above * o->row;
    int most = seen(a, t + rows - 1), columns = whole_vectors(isa, most);
    Matrix q = {at->q + (size_t)t * a->q_row, a->q_row, 1}, dscores = {datt, o->row, 1};
    Matrix dout = {at->dout + (size_t)t * a->out_row, a->out_row, 1};
    Share all = {0, (size_t)columns};
    /* needed after the products, and far away by now; 16 numbers to a cache line */
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < a->dv; c += 16)
            __builtin_prefetch(at->out + (size_t)(t + i) * a->out_row + c);
    k->products->multiply(k, att, o->row, q, o->keys_turned, rows, a->dk, NULL, all);
    k->products->multiply(k, datt, o->row, dout, o->values_turned, rows, a->dv, NULL, all);
    for (int i = 0; i < rows; i++) {
        float *p = att + (size_t)i * o->row, *dp = datt + (size_t)i * o->row;
        int n = seen(a, t + i);
        size_t place = (size_t)(t + i) * a->out_row,
               rest = widest > columns ? (size_t)(widest - columns) : 0;
        DropoutRow mask = {0};
        if (a->dropout.rate > 0) mask = dropout_row(a->dropout, at->mask + (size_t)(t + i));
        mask_row(p, n, columns);
        isa->exponentials(p, p, a->scale, lse[t + i], columns);
        if (a->dropout.rate > 0) isa->dropout(dp, dp, mask, n);
        /* sum_s att datt = dout . out, dropped out or not: shorter than the row */
        float mean = isa->dot(at->dout + place, at->out + place, (size_t)a->dv);
        isa->softmax_backward(dp, p, mean, a->scale, columns);
        if (a->dropout.rate > 0) isa->dropout(p, p, mask, n);
        memset(p + columns, 0, rest * sizeof *p);
        memset(dp + columns, 0, rest * sizeof *p);
    }
    k->products->multiply(k, dq + (size_t)t * a->q_row, a->q_row, dscores, o->keys, rows, most,
                          NULL, (Share){0, (size_t)a->dk});
}

static void backward_head(const Kernels *k, float *dq, float *dkey, float *dv, const Head *at,
                          const float *lse, const Attention *a) {
    int block = block_of(k->isa, k->products), strip = rows_of(k->isa, k->products);
    Operands o = pack_head(k, at, a);
    for (size_t t = 0; t < (size_t)a->T; t++) {
        memset(dkey + t * a->k_row, 0, (size_t)a->dk * sizeof *dkey);
        memset(dv + t * a->v_row, 0, (size_t)a->dv * sizeof *dv);
    }
    for (int t = 0; t < a->T; t += block) {
        int rows = smaller(block, a->T - t), most = seen(a, t + rows - 1);
        for (int i = 0; i < rows; i += strip)
            backward_queries(k, dq, &o, at, lse, t + i, smaller(strip, rows - i), i, most, a);
        Matrix q = {at->q + (size_t)t * a->q_row, a->q_row, 1};
        Matrix dout = {at->dout + (size_t)t * a->out_row, a->out_row, 1};
        Matrix att_turned = {o.att, 1, o.row}, dscores_turned = {o.dscores, 1, o.row};
        k->products->accumulate(k, dkey, a->k_row, dscores_turned, q, most, a->dk, rows, NULL);
        k->products->accumulate(k, dv, a->v_row, att_turned, dout, most, a->dv, rows, NULL);
    }
}

void attention_backward(const Kernels *k, float *dq, float *dkey, float *dv, const float *dout,
                        const float *out, const float *lse, const float *q, const float *key,
                        const float *v, const Attention *a) {
    assert(a->past == 0);
    Share tasks = team_share(k, (size_t)a->B * (size_t)a->NH, 1);
    Kernels own = alone(k);
    for (size_t task = tasks.begin; task < tasks.end; task++) {
        Head at = head_of(a, task, q, key, v, out, dout);
        backward_head(&own, dq + (at.q - q), dkey + (at.key - key), dv + (at.v - v), &at,
                      lse + at.lse, a);
    }
}
