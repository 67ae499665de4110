/* layers.h - the layers of a rung: each is a pair, forward and then backward.
 *
 * A rung calls these once, when a run opens. Each call adds an instruction to the rung's tape
 * (model/layers/tape.h) and returns the array that the instruction will write. The engine then
 * executes the tape for every batch. So a rung reads like its equations and does not say how
 * they are computed.
 *
 * An Array is a matrix [N, width]: a row for each of the N tokens of a batch. Every call
 * returns a new one; the tape owns it. B batch, T time, C channels, V vocabulary, L blocks, NH
 * heads, NKV key-value heads, hs = C / NH channels of a head. The gradient of an array has
 * its name with a d in front.
 *
 * A layer's `_backward` returns the gradient of its input, and adds to the gradients of its
 * weights: so a weight that is used twice gets the sum of both parts. (`_gradients` only adds to
 * those.) Gradients are those of the mean loss over the tokens of the whole batch.
 *
 * A rung that breaks a contract (an array of another width, or one that was not made) gets an
 * error when the run opens. */
#ifndef TRIL_MODEL_LAYERS_LAYERS_H
#define TRIL_MODEL_LAYERS_LAYERS_H

typedef struct Tape Tape;

/* A matrix [N, width] of a tape, or NO_ARRAY: columns `offset` to `offset` + `width` - 1 of
 * array number `id`. */
typedef struct {
    int id, offset, width;
} Array;

#define NO_ARRAY ((Array){0, 0, 0})

/* ---- weights ----
 * A rung declares them (model/rungs/rung.h). Each is one or two tensors of the model, given by
 * their numbers from 1; a layer without a bias has NO_TENSOR. */
enum { NO_TENSOR = 0 };

typedef struct { /* weight[rows, width]: a row for each token, or for each position */
    int weight, rows, width;
} Table;

typedef struct { /* weight[out, in], bias[out] */
    int weight, bias, in, out;
} Linear;

typedef struct { /* weight[size], bias[size] */
    int weight, bias, size;
} Norm;

#define NO_TABLE ((Table){0, 0, 0})

/* The linear layer that shares a table's weights: y = x table^T (Press and Wolf, "Using the Output
 * Embedding to Improve Language Models", 2017). */
Linear tied(Table table);

/* ---- the sizes of the model ---- */

int blocks(const Tape *p); /* L, the number of transformer blocks */
int heads(Tape *p);        /* NH; for rungs that have several heads */
int kv_heads(Tape *p);     /* NKV; for rungs whose keys and values have the size KV (rung.h) */

/* Begins block l, 0 <= l < L: the calls that follow belong to it. Returns p. */
Tape *begin_block(Tape *p, int l);

/* ---- embedding ----
 * x[b,t] = tokens[id[b,t]] + positions[t]; `positions` may be NO_TABLE. */
Array embedding(Tape *p, Table tokens, Table positions);
void embedding_gradients(Tape *p, Table tokens, Table positions, Array dx);

/* ---- linear ----
 * y[N,out] = x[N,in] weight^T + bias;  dx = dy weight;  dweight += dy^T x, dbias += sum_n dy
 * The backward in two parts, for an x that the backward of the layer before recomputes: first
 * linear_dx, which returns dx, then linear_gradients. */
Array linear(Tape *p, Array x, Linear w);
Array linear_backward(Tape *p, Array dy, Array x, Linear w);
Array linear_dx(Tape *p, Array dy, Linear w);
void linear_gradients(Tape *p, Array dy, Array x, Linear w);

/* ---- mean of the past ----
 * y[b,t] = (x[b,0] + ... + x[b,t]) / (t + 1): a product with the lower-triangular matrix of ones
 * (tril), each row divided by its sum. */
Array mean(Tape *p, Array x);
Array mean_backward(Tape *p, Array dy);

/* ---- causal convolution ----
 * y[b,t] = x[b,t] + taps[0] x[b,t] + taps[1] x[b,t-1] + ... for each channel by itself; taps[K,C],
 * and x is 0 before the first token of a window. Taps of 0 change nothing. */
Array convolution(Tape *p, Array x, Table taps);
Array convolution_backward(Tape *p, Array dy, Array x, Table taps);

/* ---- attention ---- (Vaswani et al., "Attention Is All You Need", 2017, eq. 1)
 * For each sequence and each of NH heads, which share the channels:
 *     scores[t,s]  = q[t] . k[s] / sqrt(hs)
 *     weights[t,s] = softmax over s <= t of scores[t,s]        (s > t: 0, the mask)
 *     out[t]       = sum_s weights[t,s] v[s]
 * k and v may have fewer heads than q, NKV = k.width / hs, which divide NH: then each is shared by
 * NH / NKV neighboring heads (Ainslie et al., "GQA", 2023). The gradient of a shared head is the
 * sum over the heads that share it. In training, dropout sets a share of the weights to 0; `site`
 * is the number of the mask, or NO_DROPOUT. attention_qkv reads q, k and v from the thirds of one
 * array qkv[N,3C]; its backward returns dqkv[N,3C]. */
enum { NO_DROPOUT = -1 };

typedef struct { /* attention's result, and the arrays that its backward reads */
    Array out, q, k, v;
    Array lse; /* the logarithm of each softmax's denominator: N NH numbers */
    int NH, site;
} Attended;

Attended attention(Tape *p, int NH, Array q, Array k, Array v, int site);
void attention_backward(Tape *p, Array *dq, Array *dk, Array *dv, Array dout, Attended of);
Attended attention_qkv(Tape *p, int NH, Array qkv, int site);
Array attention_qkv_backward(Tape *p, Array dout, Attended of);

/* ---- normalization ----
 * layernorm (Ba, Kiros, Hinton, 2016): y = (x - mean) rstd weight + bias for each row, with
 *     rstd = 1 / sqrt(variance + 1e-5)
 * rmsnorm (Zhang and Sennrich, 2019): y = x rstd weight, with rstd = 1 / sqrt(mean(x^2) + 1e-6).
 * If x is wider than w, each group of w.size channels is a row, so each head is normalized by
 * itself.
 *
 * A norm begins a branch of the residual stream x. So the backward takes dx, the stream's gradient
 * so far (or NO_ARRAY), and returns it plus the branch's part. A backward pass that lacks y calls
 * the norm again. */
Array layernorm(Tape *p, Array x, Norm w);
Array layernorm_backward(Tape *p, Array dx, Array dy, Array x, Norm w);
Array rmsnorm(Tape *p, Array x, Norm w);
Array rmsnorm_backward(Tape *p, Array dx, Array dy, Array x, Norm w);

/* ---- rotary positions ---- (Su et al., "RoFormer", 2021)
 * In each head, channels i and i + hs/2, i < hs/2, are a pair, which is rotated by the angle
 * position / 10000^(2 i / hs), so a score depends on positions only by their distance. hs is even.
 */
Array rotary(Tape *p, int NH, Array x);
Array rotary_backward(Tape *p, int NH, Array dy);

/* ---- GELU ---- (Hendrycks and Gimpel, 2016, the tanh form, which is GPT-2's)
 * y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. The backward pass also recomputes y. */
Array gelu(Tape *p, Array x);
Array gelu_backward(Tape *p, Array *y, Array dy, Array x);

/* ---- SwiGLU ---- (Shazeer, "GLU Variants Improve Transformer", 2020)
 * y = silu(gate) up, silu(x) = x / (1 + e^-x). The backward pass also recomputes y. */
Array swiglu(Tape *p, Array gate, Array up);
void swiglu_backward(Tape *p, Array *dgate, Array *dup, Array *y, Array dy, Array gate, Array up);

/* ---- counting ---- (model/ngram.h)
 * counted sets roots[N,V] = sqrt(p) and logarithms[N,V] = ln p, where p[n,v] is the counted model's
 * probability of token v after token n, or 1/V before anything is counted. In training, p leaves
 * out the part of the text that the pass reads. trusted: y[n,v] = x[n,v] + (1 + trust[n]) z[n,v],
 * trust[N,1]. dy is also the gradient of x; trusted_backward returns the gradient of trust. */
void counted(Tape *p, Array *roots, Array *logarithms);
Array trusted(Tape *p, Array x, Array trust, Array z);
Array trusted_backward(Tape *p, Array dy, Array z);

/* ---- sum ----
 * y = a + b. dy is the gradient of both. `add` also sums the gradients of an array used twice. */
Array add(Tape *p, Array a, Array b);

/* ---- dropout ---- (Srivastava et al., 2014)
 * In training y = 0 with probability `rate`, else x / (1 - rate); `site` is the number of the
 * mask; each block and each step has its own. The backward is the same, with the same mask. */
Array dropout(Tape *p, Array x, int site);
Array dropout_backward(Tape *p, Array dy, int site);

#endif
