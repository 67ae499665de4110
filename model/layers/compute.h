/* compute.h - what each layer computes: functions on arrays in memory. Private to model/.
 *
 * Shapes are row-major. B batch, T time, N tokens, C channels, OC output channels, V vocabulary, NH
 * heads. The caller owns all arrays. Arguments come in this order: outputs, saved values, inputs,
 * weights, sizes. A gradient has the name of its value with a d in front. One rule everywhere: dx
 * is written, dw is added to. Outputs overlap inputs only where a comment allows it.
 *
 * There are two kinds of functions. Most compute each token by itself: a thread calls them for N
 * rows of its own. Functions marked "by the team" look across tokens: all threads call them with
 * the same arguments, for all tokens, and divide the work. A barrier (kernels.h) must come before
 * them if other threads wrote their inputs, and after them before other threads read their outputs.
 *
 * Nothing fails. Every result has the same bits at any number of threads. */
#ifndef TRIL_MODEL_LAYERS_COMPUTE_H
#define TRIL_MODEL_LAYERS_COMPUTE_H

#include "model/kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor of weights: its numbers, their gradient (NULL outside training) and, for the right
 * operand of a product, its packed copy. If w is NULL there is no tensor. */
typedef struct {
    float *w, *dw;
    const float *packed;
} Param;

/* ---- embedding ----
 * x[n] = wte[ids[n]] + wpe[past + (first + n) % T], for N tokens from token `first` of the batch;
 * ids[N] in 0..V-1; wte[V,C]; wpe[>= past + T, C], or none. The gradients are computed by the team,
 * with past = 0: dwte[ids[b,t]] += dx[b,t], dwpe[t] += sum_b dx[b,t]. */
void compute_embedding(const Thread *thread, float *x, const int32_t *ids, Param wte, Param wpe,
                       size_t first, int N, int T, int past, int C);
void compute_embedding_gradients(const Thread *thread, Param wte, Param wpe, const float *dx,
                                 const int32_t *ids, int B, int T, int C);

/* ---- linear ----
 * y[N,OC] = x[N,C] w[OC,C]^T + b[OC];  dx = dy w;  dw += dy^T x;  db += sum_n dy
 * b may be none. w must be packed: linear_pack, by the team, writes the copy for the forward or the
 * backward pass to packed[linear_packed_size]. compute_linear_columns computes only some columns of
 * y; they begin at a multiple of PRODUCT_GRAIN.
 * The team computes the gradients in two steps, so that with two threads each mostly reads what it
 * wrote itself. compute_linear_gradients writes the sums over each half of the tokens to
 * halves[2,OC,C] and, unless it is NULL, bias_halves[2,OC]. After a barrier,
 * compute_linear_gradients_reduce adds the first half to dw and db, and then the second. */
size_t linear_packed_size(const Isa *isa, const Products *products, int C, int OC);
void linear_pack(const Thread *thread, float *packed, const float *w, int C, int OC, bool backward);
void compute_linear(const Thread *thread, float *y, const float *x, Param w, Param b, int N, int C,
                    int OC);
void compute_linear_columns(const Thread *thread, float *y, const float *x, Param w, Param b, int N,
                            int C, int OC, Share columns);
void compute_linear_backward(const Thread *thread, float *dx, const float *dy, Param w, int N,
                             int C, int OC);
void compute_linear_gradients(const Thread *thread, float *halves, float *bias_halves,
                              const float *dy, const float *x, int N, int C, int OC);
void compute_linear_gradients_reduce(const Thread *thread, Param w, Param b, const float *halves,
                                     const float *bias_halves, int N, int C, int OC);

/* ---- mean of the past ----
 * y[b,t] = (x[b,0] + ... + x[b,past+t]) / (past + t + 1)
 * This is a product with the lower-triangular matrix of ones (tril), each row divided by its sum. x
 * has past + T tokens, y has the last T; past > 0 needs B = 1. By the team. dx[b,s] = sum_(t >= s)
 * dy[b,t] / (t + 1), past = 0. dx may be dy. */
void compute_mean(const Thread *thread, float *y, const float *x, int B, int T, int past, int C);
void compute_mean_backward(const Thread *thread, float *dx, const float *dy, int B, int T, int C);

/* ---- causal convolution ----
 * y[b,t] = x[b,t] + sum_(k < K) taps[k] x[b,t-k], number by number; taps[K,C], and x is 0 before
 * the first token. x has past + T tokens, y has the last T; past > 0 needs B = 1. All are computed
 * by the team. Backward has past = 0: dx[b,s] = dy[b,s] + sum_k taps[k] dy[b,s+k] and dtaps[k] +=
 * sum_(b,t) dy[b,t] x[b,t-k]. */
void compute_convolution(const Thread *thread, float *y, const float *x, const float *taps, int B,
                         int T, int past, int K, int C);
void compute_convolution_backward(const Thread *thread, float *dx, const float *dy,
                                  const float *taps, int B, int T, int K, int C);
void compute_convolution_gradients(const Thread *thread, float *dtaps, const float *dy,
                                   const float *x, int B, int T, int K, int C);

/* ---- attention ----
 * Scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017, eq. 1), for
 * each sequence of the batch and each head alone:
 *     scores[t,s] = scale q[t] . k[s]
 *     att[t,s]    = softmax over s of scores[t,s]    (causal: over s <= past + t only)
 *     out[t]      = sum_s att[t,s] v[s]
 * There are T queries, and past + T keys and values: `past` tokens come from earlier passes (then B
 * = 1). Heads share the channels: head h of q is channels h*dk to (h+1)*dk, of out h*dv to
 * (h+1)*dv. It reads head g = h / (NH / NKV) of key and v: channels g*dk to (g+1)*dk, and g*dv to
 * (g+1)*dv. The `_row` sizes are the floats from one token to the next, so that q, k and v may be
 * columns of one array.
 *
 * att is never stored: lse[B,NH,T], the logarithm of each softmax's denominator, is enough to
 * recompute it (Dao et al., "FlashAttention", 2022). With dropout, att is multiplied by its mask
 * after the softmax. Backward, with datt = dout v^T:
 *     dscores[t,s] = att (datt - dout[t] . out[t]);  dq = scale dscores k;  dk = scale dscores^T q;
 *     dv = att^T dout
 * dkey and dv are summed over the heads that read them, in their order.
 * Backward has past = 0; dq, dkey and dv have the strides of q, key and v. Both are computed by the
 * team and need attention_scratch floats of scratch in each thread. */
typedef struct {
    float rate;   /* the share of elements set to 0; 0: no dropout */
    uint64_t key; /* names the mask (base/random.h) */
    size_t first; /* tokens of a shared batch before this process's part */
} Dropout;

typedef struct {
    int B, T, past;
    int NH, NKV; /* heads of queries; of keys and values: NKV divides NH */
    int dk, dv;  /* channels of a head: in queries and keys, in values */
    size_t q_row, k_row, v_row, out_row;
    bool causal;
    float scale;
    Dropout dropout;
    atomic_int *taken; /* [threads]: heads taken from each share (kernels.h); NULL: equal shares */
    float *columns;    /* NULL, or a second copy of all keys, KEY_GROUP keys after another, in which
                          one query alone finds its scores faster: [past + T, NKV dk] numbers, the
                          tokens rounded up to a multiple of KEY_GROUP. A pass adds the keys of its T
                          tokens; passes before added those of `past`. Needs B = 1, no dropout */
} Attention;

size_t attention_scratch(const Isa *isa, const Products *products, int T, int dk, int dv);
void compute_attention(const Thread *thread, float *out, float *lse, const float *q,
                       const float *key, const float *v, const Attention *shape);
/* Copies the keys of T tokens of one head, from `past` on, to shape.columns; B = 1. */
void compute_columns(const float *key, int head, const Attention *shape);
void compute_attention_backward(const Thread *thread, float *dq, float *dkey, float *dv,
                                const float *dout, const float *out, const float *lse,
                                const float *q, const float *key, const float *v,
                                const Attention *shape);

/* ---- layer normalisation ---- (Ba, Kiros, Hinton, 2016)
 * y = (x - mean) rstd w + b for each of N rows, with rstd = 1 / sqrt(variance + 1e-5)
 * mean[N] and rstd[N] are saved: compute_layernorm_recompute recomputes the same y from them. The
 * backward *adds* to dx, the gradient of the residual stream x, and writes the parts of dw and db
 * from its N rows to sums[2,C]. compute_layernorm_gradients, by the team, adds sums[count,2,C] to
 * dw and db in order. */
void compute_layernorm(const Thread *thread, float *y, float *mean, float *rstd, const float *x,
                       Param w, Param b, int N, int C);
void compute_layernorm_recompute(const Thread *thread, float *y, const float *x, const float *mean,
                                 const float *rstd, Param w, Param b, int N, int C);
void compute_layernorm_backward(const Thread *thread, float *dx, float *sums, const float *dy,
                                const float *x, const float *mean, const float *rstd, Param w,
                                int N, int C);
void compute_layernorm_gradients(const Thread *thread, Param w, Param b, const float *sums,
                                 int count, int C);

/* ---- root-mean-square normalisation ---- (Zhang and Sennrich, 2019)
 * y = x rstd w for each of N rows, with rstd = 1 / sqrt(mean(x^2) + 1e-6). Likewise, with sums[C]
 * for dw. A row may be the channels of one head; then a token has NH rows. */
void compute_rmsnorm(const Thread *thread, float *y, float *rstd, const float *x, Param w, int N,
                     int C);
void compute_rmsnorm_recompute(const Thread *thread, float *y, const float *x, const float *rstd,
                               Param w, int N, int C);
void compute_rmsnorm_backward(const Thread *thread, float *dx, float *sums, const float *dy,
                              const float *x, const float *rstd, Param w, int N, int C);
void compute_rmsnorm_gradients(const Thread *thread, Param w, const float *sums, int count, int C);

/* ---- rotary positions ---- (Su et al., "RoFormer", 2021)
 * In each head, channels i and i + hs/2, i < hs/2, are a pair, which is rotated by the angle
 * position / 10000^(2 i / hs). tables[position] has hs/2 cosines, then hs/2 sines; rotary_table
 * writes the row of one position. x and y have a row for each head, NH for each token; `first` is
 * the number of the first row in the batch. y may be x. Backward rotates back; dx may be dy. hs is
 * even. */
void rotary_table(float *row, int position, int hs);
void compute_rotary(const Thread *thread, float *y, const float *x, const float *tables,
                    size_t first, int rows, int T, int past, int NH, int hs);
/* Rotates the heads of one token, x[NH,hs], back by the angles of `row`, one of the tables. */
void compute_rotary_back(const Thread *thread, float *x, const float *row, int NH, int hs);
void compute_rotary_backward(const Thread *thread, float *dx, const float *dy, const float *tables,
                             size_t first, int rows, int T, int NH, int hs);

/* ---- SwiGLU ---- (Shazeer, "GLU Variants Improve Transformer", 2020)
 * y = silu(gate) up for n numbers, silu(x) = x / (1 + e^-x). The backward makes y again on the way.
 * dgate may be dy. */
void compute_swiglu(const Thread *thread, float *y, const float *gate, const float *up, size_t n);
void compute_swiglu_backward(const Thread *thread, float *dgate, float *dup, float *y,
                             const float *gate, const float *up, const float *dy, size_t n);

/* ---- GELU ---- (Hendrycks and Gimpel, 2016, the tanh form, which is GPT-2's)
 * y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 for n numbers. The backward makes y again
 * on the way. dx may be dy. */
void compute_gelu(const Thread *thread, float *y, const float *x, size_t n);
void compute_gelu_backward(const Thread *thread, float *dx, float *y, const float *x,
                           const float *dy, size_t n);

/* ---- sum ----
 * y = a + b for n numbers; y may be either. */
void compute_sum(const Thread *thread, float *y, const float *a, const float *b, size_t n);

/* ---- dropout ---- (Srivastava et al., 2014)
 * y = 0 with probability `rate`, else x / (1 - rate), for each of N rows of C numbers; `first` is
 * the number of the first row in the pass. The mask follows from the key and the row, so the
 * backward is the same call, from dy to dx. y may be x. */
void compute_dropout(const Thread *thread, float *y, const float *x, Dropout dropout, size_t first,
                     int N, int C);

/* ---- cross-entropy ----
 * losses[n] = ln(sum_v exp(logits[n,v])) - logits[n,targets[n]], in nats
 * dlogits = (softmax(logits) - onehot(targets)) scale. dlogits may be logits. */
void compute_cross_entropy(const Thread *thread, float *losses, const float *logits,
                           const int32_t *targets, int N, int V);
void compute_cross_entropy_backward(const Thread *thread, float *dlogits, const float *logits,
                                    const int32_t *targets, float scale, int N, int V);

/* dlogits += (onehot(targets) - probabilities) scale: moves the share `scale` of the target from
 * the actual token to what another model expects. */
void compute_distillation(const Thread *thread, float *dlogits, const float *probabilities,
                          const int32_t *targets, float scale, int N, int V);

#endif
