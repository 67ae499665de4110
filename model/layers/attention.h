/* attention.h - scaled dot-product attention on arrays in memory, for attention.c, its tests and
 * benchmarks. Private to model/.
 *
 * For each sequence of the batch and each head alone (Vaswani et al., 2017, eq. 1):
 *     scores[t,s] = scale q[t] . k[s]
 *     att[t,s]    = softmax over s of scores[t,s]    (s <= t: the mask)
 *     out[t]      = sum_s att[t,s] v[s]
 * Heads share the channels: head h of q is channels h*hs to (h+1)*hs, of out h*vs to (h+1)*vs. Head
 * h reads head g = h / (NH / NKV) of k and v: channels g*hs to (g+1)*hs, and g*vs to (g+1)*vs.
 *
 * att is never stored: lse, the logarithm of each softmax's denominator, [NH,T] for each sequence,
 * is enough to recompute it (Dao et al., "FlashAttention", 2022). With dropout, att is multiplied
 * by its mask after the softmax. Backward, with datt = dout v^T:
 *     dscores[t,s] = att (datt - dout[t] . out[t]);  dq = scale dscores k;
 *     dk = scale dscores^T q;  dv = att^T dout
 * dk and dv are summed over the heads that read them, in their order. dq, dk and dv have
 * the strides of q, k and v. Both are computed by the team and need attention_scratch floats
 * of scratch in each thread. */
#ifndef TRIL_MODEL_LAYERS_ATTENTION_H
#define TRIL_MODEL_LAYERS_ATTENTION_H

#include "model/layers/tape.h"

size_t attention_scratch(const Isa *isa, const Products *products, int T, int hs, int vs);

/* `taken` are the heads taken from each thread's share (team_items). */
void attention_forward(const Thread *thread, const Attention *a, atomic_int *taken);
void attention_backward_pass(const Thread *thread, const Attention *a, atomic_int *taken);

/* attention_cache_key copies key s, at a->k, to columns[n, NKV hs]: a second copy of the n keys
 * in groups of KEY_GROUP, from which a single query computes its scores faster; n is a multiple of
 * KEY_GROUP. attention_decode computes the output of one query, which sees the first `seen` keys
 * and values: a->q, v and out begin with its row, with the first value, and with its output. The
 * bits are those of attention_forward. One thread computes all heads, without dropout. */
void attention_cache_key(const Attention *a, float *columns, size_t s);
void attention_decode(const Thread *thread, const Attention *a, const float *columns, int seen);

#endif
