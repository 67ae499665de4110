/* plain_layers.h - every layer, forward and backward, in plain loops; and the rungs that call them.
 *
 * T time, C channels, OC output channels, V vocabulary, NH heads, hs = C / NH channels of a head.
 * In an array (T, C), channel c of token t is number t * C + c.
 *
 * A call of a layer returns a new array, y, and records its inputs in a Call. The backward pass
 * takes the calls from the last to the first. Each reads y.dx, the gradient of its y, and adds to
 * the gradients of its inputs: to x.dx, and to dw and db of the weights. All gradients begin at 0.
 * So an array that is read twice gets the sum of two gradients, as the chain rule says. In the
 * formulas x.dx is dx, and y.dx is dy. */
#ifndef TRIL_MODEL_PLAIN_PLAIN_LAYERS_H
#define TRIL_MODEL_PLAIN_PLAIN_LAYERS_H

#include "model/plain/plain.h"

/* Numbers (rows, columns) and, with a d in front, their gradients. */
typedef struct {
    double *x, *dx;
    int rows, columns;
} Array;

/* The weights of one layer and, with a d in front, their gradients. They belong to the Plain. */
typedef struct {
    const double *w, *b; /* (rows, columns) and, if the layer has a bias, (rows) */
    double *dw, *db;
    int rows, columns; /* a vector has columns = 1 */
} Weights;

/* One call of a layer. */
typedef struct Call {
    void (*backward)(const struct Call *call); /* if the numbers have a gradient */
    Array y;                                   /* its result */
    Array in[3];                               /* its inputs */
    Weights w;
    const int32_t *ids;
    int count; /* heads, or the first column */
    struct Call *before;
} Call;

/* Returns an array of zeros, which belongs to the Plain until the end of the sequence. Records the
 * call, whose y it is. */
Array plain_array(Plain *p, int rows, int columns, Call call);

/* Returns the weights whose tensors are NAME.weight and, if the model has it, NAME.bias. The name
 * is `format` with its arguments, as in printf. */
Weights plain_weights(const Plain *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- embedding ----
 * y[t] = w[ids[t]], a row of a table w[V,C];  dw[ids[t]] += dy[t] */
Array plain_embedding(Plain *p, const int32_t *ids, Weights table, int T);

/* The same for positions: y[t] = w[t];  dw[t] += dy[t] */
Array plain_positions(Plain *p, Weights table, int T);

/* ---- linear ----
 * y[T,OC] = x[T,C] w[OC,C]^T + b[OC];  dx += dy w;  dw += dy^T x;  db += sum_t dy[t] */
Array plain_linear(Plain *p, Array x, Weights layer);

/* ---- residual ----
 * y = a + b;  da += dy, db += dy */
Array plain_add(Plain *p, Array a, Array b);

/* ---- columns ----
 * y[T,C]: the C columns from `first` on of x;  dx likewise */
Array plain_columns(Plain *p, Array x, int first, int C);

/* ---- attention ---- (Vaswani et al., "Attention Is All You Need", 2017, eq. 1)
 * In two calls. First the weights, which say how much of token s token t takes. Head h reads the
 * channels h * hs to (h + 1) * hs of q and k:
 *     att[h,t,s] = exp(score[s]) / sum_(r <= t) exp(score[r])    score[s] = q[t] . k[s] / sqrt(hs)
 * for s <= t, and 0 for s > t, which is the mask: no token sees a later one.
 *     dscore[s] = att[s] (datt[s] - sum_r att[r] datt[r])
 *     dq[t] += dscore[s] k[s] / sqrt(hs), dk[s] += dscore[s] q[t] / sqrt(hs) */
Array plain_attention(Plain *p, Array q, Array k, int NH);

/* Then the weighted mean of the values. att[h] weights the channels of head h:
 *     y[t] = sum_(s <= t) att[h,t,s] v[s];  dv[s] += att[h,t,s] dy[t], datt[h,t,s] += dy[t] . v[s]
 */
Array plain_weighted_mean(Plain *p, Array att, Array v);

/* ---- shared heads ---- (Ainslie et al., "GQA", 2023)
 * From NKV heads of hs channels to NH, which NKV divides: head h of y[T,NH*hs] is head h / (NH /
 * NKV) of x[T,NKV*hs]. dx sums the gradients of all heads that it became. */
Array plain_shared(Plain *p, Array x, int NH, int NKV);

/* ---- mean of the past ----
 * The weights of one head that takes the same share of each token it sees: att[t,s] = 1 / (t + 1)
 * for s <= t, and 0 for s > t. They are constant. */
Array plain_mean_of_past(Plain *p, int T);

/* ---- causal convolution ----
 * Each channel adds to itself its last tokens, each with the tap w[k] of its distance k; w[K,C]:
 *     y[t] = x[t] + sum_(k < K, k <= t) w[k] x[t-k]
 *     dx[t-k] += w[k] dy[t], dw[k] += dy[t] x[t-k], and dx[t] += dy[t] */
Array plain_convolution(Plain *p, Array x, Weights taps);

/* ---- normalization ---- (layer normalization: Ba, Kiros, Hinton, 2016)
 * For each row: z = (x - mean) rstd, with rstd = 1 / sqrt(variance + 1e-5), and y = z w + b.
 *     dx += rstd (dz - mean(dz) - z mean(dz z)) with dz = dy w;  dw += dy z;  db += dy
 * A norm without a bias also lacks the means of x and dz (RMSNorm: Zhang and Sennrich, 2019): z = x
 * rstd, with rstd = 1 / sqrt(mean(x^2) + 1e-6). A row has as many channels as w: those of a token,
 * or of one head. */
Array plain_norm(Plain *p, Array x, Weights norm);

/* ---- rotary positions ---- (Su et al., "RoFormer", 2021)
 * In each head, channels i and i + hs/2 are a pair, which is rotated by the angle
 * t / 10000^(2 i / hs):  (a, b) -> (a cos - b sin, b cos + a sin). The backward rotates back. */
Array plain_rotary(Plain *p, Array x, int NH);

/* ---- GELU ---- (Hendrycks and Gimpel, 2016, the form with tanh, which is GPT-2's)
 * y = x (1 + tanh(u)) / 2, u = sqrt(2/pi) (x + 0.044715 x^3), for each number */
Array plain_gelu(Plain *p, Array x);

/* ---- SwiGLU ---- (Shazeer, "GLU Variants Improve Transformer", 2020)
 * y = silu(gate) up, silu(x) = x sigmoid(x), sigmoid(x) = 1 / (1 + e^-x), for each number */
Array plain_swiglu(Plain *p, Array gate, Array up);

/* ---- counting ---- (model/ngram.h)
 * p = the counted model's probabilities after each of ids[T], 1/V if nothing was counted;
 * roots[T,V] = sqrt(p), logarithms[T,V] = ln p. They have no backward. */
void plain_counted(Plain *p, const int32_t *ids, int T, Array *roots, Array *logarithms);

/* y[t,v] = x[t,v] + (1 + trust[t]) z[t,v];  dx += dy, dtrust[t] += sum_v dy[t,v] z[t,v] */
Array plain_trusted(Plain *p, Array x, Array trust, Array z);

/* ---- cross-entropy ----
 * The mean over t of -ln softmax(logits[t])[targets[t]], in nats.
 *     dlogits[t] += (softmax(logits[t]) - onehot(targets[t])) / T */
double plain_cross_entropy(Array logits, const int32_t *targets);
void plain_cross_entropy_backward(Array logits, const int32_t *targets);

/* ---- the rungs, lowest first ----
 * A rung takes one sequence, ids[T], and returns the logits (T, V). */
typedef Array PlainRung(Plain *p, const int32_t *ids, int T);
PlainRung plain_bigram, plain_average, plain_head, plain_multihead, plain_gpt, plain_modern,
    plain_conv, plain_ngram;

#endif
