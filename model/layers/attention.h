/* attention.h - scaled dot-product attention on arrays in memory, for attention.c, its tests and
 * benchmarks. Private to model/.
 *
 * For each sequence of the batch and each head alone (Vaswani et al., 2017, eq. 1):
 *     scores[t,s] = scale q[t] . k[s]
 *     att[t,s]    = softmax over s of scores[t,s]    (s <= t: the mask)
 *     out[t]      = sum_s att[t,s] v[s]
 * Heads share the channels: head h of q is channels h*dk to (h+1)*dk, of out h*dv to (h+1)*dv. Head
 * h reads head g = h / (NH / NKV) of key and v: channels g*dk to (g+1)*dk, and g*dv to (g+1)*dv.
 *
 * att is never stored: lse, the logarithm of each softmax's denominator, [NH,T] for each sequence,
 * is enough to recompute it (Dao et al., "FlashAttention", 2022). With dropout, att is multiplied
 * by its mask after the softmax. Backward, with datt = dout v^T:
 *     dscores[t,s] = att (datt - dout[t] . out[t]);  dq = scale dscores k;
 *     dkey = scale dscores^T q;  dvalue = att^T dout
 * dkey and dvalue are summed over the heads that read them, in their order. dq, dkey and dvalue
 * have the strides of q, key and v. Both are computed by the team and need attention_scratch floats
 * of scratch in each thread. */
#ifndef TRIL_MODEL_LAYERS_ATTENTION_H
#define TRIL_MODEL_LAYERS_ATTENTION_H

#include "model/layers/tape.h"

typedef struct {
    Sequence head; /* the first head of the first sequence */
    int B;         /* sequences */
    int NH, NKV;   /* heads of queries; of keys and values: NKV divides NH */
    Dropout dropout;
    atomic_int *taken; /* [threads]: heads taken from each share (team_items) */
} Attention;

size_t attention_scratch(const Isa *isa, const Products *products, int T, int dk, int dv);
void attention_forward(const Thread *thread, const Attention *a);
void attention_backward_pass(const Thread *thread, const Attention *a);

/* attention_column copies key s, at a->head.key, to columns[n, NKV dk]: a second copy of the n keys
 * in groups of KEY_GROUP, from which a single query computes its scores faster; n is a multiple of
 * KEY_GROUP. attention_token computes the output of one query, which sees the first `seen` keys and
 * values: a->head.q, v and out begin with its row, with the first value, and with its output. The
 * bits are those of attention_forward. One thread computes all heads, without dropout. */
void attention_column(const Attention *a, float *columns, size_t s);
void attention_token(const Thread *thread, const Attention *a, const float *columns, int seen);

#endif
