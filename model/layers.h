/* layers.h - every layer as a pair: forward, then its backward.
 *
 * Shapes are row-major. B batch, T time, N tokens, C channels, OC output channels, V vocabulary,
 * NH heads. Arguments come as outputs, saved values, inputs, weights, sizes. A gradient is named
 * after its value with a d in front. One rule everywhere: dx is written, dw is added to. Outputs
 * overlap inputs only where a comment allows it.
 *
 * Two kinds. Most layers see each token by itself: a thread calls them for rows of its own, N of
 * them, and needs to wait for nobody. Those that look across tokens say "by the team": all threads
 * call them together, for all tokens, and share the work; what they read must be whole before, and
 * what they write is whole after the next barrier (kernels.h), which is the caller's.
 *
 * When text is made there is one row, too few to give each thread some: the threads are `together`
 * then, and all call every layer for the same row. Each does what belongs to single tokens by
 * itself, in memory of its own; a linear layer is shared by columns, and whole when it returns.
 *
 * Nothing fails; every result is the same bits at any number of threads. */
#ifndef TRIL_LAYERS_H
#define TRIL_LAYERS_H

#include "model/kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor of weights: its numbers, their gradient (NULL outside training) and, for a matrix that
 * products read, its packed copy (run.h says when it is made). A Param of NULLs is no tensor. */
typedef struct {
    float *w, *dw;
    const float *packed;
} Param;

/* ---- embedding ----
 * x[n] = wte[ids[n]] + wpe[past + (first + n) % T], for N tokens from token `first` of the batch
 * ids[N] in 0..V-1; wte[V,C]; wpe[>= past + T, C], or none for tokens alone. The backward, by the
 * team, is for training, where past = 0: dwte[ids[b,t]] += dx[b,t], dwpe[t] += sum_b dx[b,t]. */
void embedding_forward(const Kernels *k, float *x, const int32_t *ids, Param wte, Param wpe,
                       size_t first, int N, int T, int past, int C);
void embedding_backward(const Kernels *k, Param wte, Param wpe, const float *dx, const int32_t *ids,
                        int B, int T, int C);

/* ---- linear ----
 * y[N,OC] = x[N,C] w[OC,C]^T + b[OC];  dx = dy w;  by the team: dw += dy^T x, db += sum_n dy
 * b may be none. w is packed: linear_pack makes the copy for the forward or the backward pass, by
 * the team, in linear_packed_size floats. */
size_t linear_packed_size(const Isa *isa, const Products *products, int C, int OC);
void linear_pack(const Kernels *k, float *packed, const float *w, int C, int OC, bool backward);
void linear_forward(const Kernels *k, float *y, const float *x, Param w, Param b, int N, int C,
                    int OC);
void linear_backward(const Kernels *k, float *dx, const float *dy, Param w, int N, int C, int OC);
void linear_gradients(const Kernels *k, Param w, Param b, const float *dy, const float *x, int N,
                      int C, int OC);

/* ---- mean of the past ----
 * y[b,t] = (x[b,0] + ... + x[b,past+t]) / (past + t + 1)
 * which is a product with the lower-triangular matrix of ones (tril), each row divided by its
 * sum. x holds past + T tokens, y the last T of them; past > 0 needs B = 1. By the team.
 * dx[b,s] = sum_(t >= s) dy[b,t] / (t + 1), past = 0. dx may be dy. */
void mean_forward(const Kernels *k, float *y, const float *x, int B, int T, int past, int C);
void mean_backward(const Kernels *k, float *dx, const float *dy, int B, int T, int C);

/* ---- attention ----
 * Scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017, eq. 1), for
 * each sequence of the batch and each head alone:
 *     scores[t,s] = scale q[t] . k[s]
 *     att[t,s]    = softmax over s of scores[t,s]    (causal: over s <= past + t only)
 *     out[t]      = sum_s att[t,s] v[s]
 * There are T queries, and past + T keys and values: `past` tokens are known from before (B = 1
 * then). Heads lie side by side in the channels: head h of q and k is channels h*dk to (h+1)*dk,
 * of v and out h*dv to (h+1)*dv. The `_row` sizes are the floats from one token to the next, so
 * that q, k and v may lie in one array.
 *
 * att is never stored: lse[B,NH,T], the logarithm of each softmax's denominator, is enough to
 * compute it again (Dao et al., "FlashAttention", 2022). With dropout, att is multiplied by its
 * mask after the softmax. Backward, with datt = dout v^T:
 *     dscores[t,s] = att (datt - dout[t] . out[t]);  dq = scale dscores k;  dk = scale dscores^T q;
 *     dv = att^T dout
 * It is for training, where past = 0; dq, dkey and dv lie as q, key and v do. Both by the team;
 * attention_room is the scratch, in floats, that they need of each thread. */
typedef struct {
    float rate;   /* the share of elements set to 0; 0: nothing happens */
    uint64_t key; /* names the mask (base/random.h) */
    size_t first; /* tokens that come before those of this pass, where it is a part of a batch */
} Dropout;

typedef struct {
    int B, T, past, NH;
    int dk, dv; /* channels of a head: of queries and keys, of values */
    size_t q_row, k_row, v_row, out_row;
    bool causal;
    float scale;
    Dropout dropout;
} Attention;

size_t attention_room(const Isa *isa, const Products *products, int T, int dk, int dv);
void attention_forward(const Kernels *k, float *out, float *lse, const float *q, const float *key,
                       const float *v, const Attention *shape);
void attention_backward(const Kernels *k, float *dq, float *dkey, float *dv, const float *dout,
                        const float *out, const float *lse, const float *q, const float *key,
                        const float *v, const Attention *shape);

/* ---- layer normalisation ---- (Ba, Kiros, Hinton, 2016)
 * y = (x - mean) rstd w + b for each of N rows, with rstd = 1 / sqrt(variance + 1e-5)
 * mean[N] and rstd[N] are saved: layernorm_again makes the same y from them. The backward *adds*
 * to dx, the gradient of the stream that x is, and writes to `sums`[2,C] what the N rows give dw
 * and db; by the team, `count` such sums are then added up in order. */
void layernorm_forward(const Kernels *k, float *y, float *mean, float *rstd, const float *x,
                       Param w, Param b, int N, int C);
void layernorm_again(const Kernels *k, float *y, const float *x, const float *mean,
                     const float *rstd, Param w, Param b, int N, int C);
void layernorm_backward(const Kernels *k, float *dx, float *sums, const float *dy, const float *x,
                        const float *mean, const float *rstd, Param w, int N, int C);
void layernorm_gradients(const Kernels *k, Param w, Param b, const float *sums, int count, int C);

/* ---- root-mean-square normalisation ---- (Zhang and Sennrich, 2019)
 * y = x rstd w for each of N rows, with rstd = 1 / sqrt(mean(x^2) + 1e-6). Likewise; `sums`[C] is
 * dw's alone. A row may be one head's channels, of which a token has NH side by side. */
void rmsnorm_forward(const Kernels *k, float *y, float *rstd, const float *x, Param w, int N,
                     int C);
void rmsnorm_again(const Kernels *k, float *y, const float *x, const float *rstd, Param w, int N,
                   int C);
void rmsnorm_backward(const Kernels *k, float *dx, float *sums, const float *dy, const float *x,
                      const float *rstd, Param w, int N, int C);
void rmsnorm_gradients(const Kernels *k, Param w, const float *sums, int count, int C);

/* ---- rotary positions ---- (Su et al., "RoFormer", 2021)
 * Head by head, channel i < hs/2 and channel i + hs/2 are a pair that is turned by the angle
 * position / 10000^(2 i / hs): what a query and a key then give depends on how far apart they
 * stand. turns[position] holds hs/2 cosines, then hs/2 sines; rotary_turns fills it for positions
 * past to past + T - 1, by the team. Rows are heads, NH of each token; the first one is row `first`
 * of the batch; y may be x. Backward is the turn back; dx may be dy. hs is even. */
void rotary_turns(const Kernels *k, float *turns, int T, int past, int hs);
void rotary_forward(const Kernels *k, float *y, const float *x, const float *turns, size_t first,
                    int rows, int T, int past, int NH, int hs);
void rotary_backward(const Kernels *k, float *dx, const float *dy, const float *turns, size_t first,
                     int rows, int T, int NH, int hs);

/* ---- SwiGLU ---- (Shazeer, "GLU Variants Improve Transformer", 2020)
 * y = silu(gate) up for n numbers, silu(x) = x / (1 + e^-x). The backward makes y again on the way.
 * dgate may be dy. */
void swiglu_forward(const Kernels *k, float *y, const float *gate, const float *up, size_t n);
void swiglu_backward(const Kernels *k, float *dgate, float *dup, float *y, const float *gate,
                     const float *up, const float *dy, size_t n);

/* ---- GELU ---- (Hendrycks and Gimpel, 2016, the tanh form, which is GPT-2's)
 * y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 for n numbers. The backward makes y again
 * on the way. dx may be dy. */
void gelu_forward(const Kernels *k, float *y, const float *x, size_t n);
void gelu_backward(const Kernels *k, float *dx, float *y, const float *x, const float *dy,
                   size_t n);

/* ---- residual ----
 * y = a + b for n numbers. The gradient of a sum is the same for both terms: where a branch
 * returns to the stream it left, residual_add gathers the two, dx += dbranch. */
void residual_forward(const Kernels *k, float *y, const float *a, const float *b, size_t n);
void residual_add(const Kernels *k, float *dx, const float *dbranch, size_t n);

/* ---- dropout ---- (Srivastava et al., 2014)
 * y = 0 with probability `rate`, else x / (1 - rate), for each of N rows of C numbers, of which
 * the first is row `first` of the pass. The mask follows from the key alone, so the backward is
 * the same call, from dy to dx. y may be x. */
void dropout_apply(const Kernels *k, float *y, const float *x, Dropout dropout, size_t first, int N,
                   int C);

/* ---- cross-entropy ----
 * losses[n] = ln(sum_v exp(logits[n,v])) - logits[n,targets[n]], in nats
 * dlogits = (softmax(logits) - onehot(target)) scale. dlogits may be logits. */
void cross_entropy_forward(const Kernels *k, float *losses, const float *logits,
                           const int32_t *targets, int N, int V);
void cross_entropy_backward(const Kernels *k, float *dlogits, const float *logits,
                            const int32_t *targets, float scale, int N, int V);

#endif
