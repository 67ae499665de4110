/* gpt.c - the whole of GPT-2, at any size (Radford et al., "Language Models are Unsupervised
 * Multitask Learners", 2019).
 *
 *     x = dropout(wte[id] + wpe[position])
 *     for each of L blocks:
 *         x = x + dropout(proj(attention(qkv(ln_1(x)))))
 *         x = x + dropout(fcproj(gelu(fc(ln_2(x)))))
 *     logits = ln_f(x) wte^T
 *
 * New compared with multihead: an MLP, the block (normalize, then attention or MLP, then add to
 * the residual stream x), depth, dropout, and an output layer that shares the token embedding.
 * Tensors are named as in nanoGPT. */
#include "model/rungs/rung.h"

typedef struct {
    Table wte, wpe;
    Norm ln_1, ln_2, ln_f;
    Linear qkv, proj, fc, fcproj;
} Weights;

static const WeightSpec weights[] = {
    TABLE(wte, "transformer.wte", SIZE_V, SIZE_C),
    TABLE(wpe, "transformer.wpe", SIZE_T, SIZE_C),
    NORM(ln_1, "transformer.h.%d.ln_1", SIZE_C, .start = 1, .bias = true),
    LINEAR(qkv, "transformer.h.%d.attn.c_attn", SIZE_C, SIZE_3C, .bias = true),
    LINEAR(proj, "transformer.h.%d.attn.c_proj", SIZE_C, SIZE_C, .bias = true, .residual = true),
    NORM(ln_2, "transformer.h.%d.ln_2", SIZE_C, .start = 1, .bias = true),
    LINEAR(fc, "transformer.h.%d.mlp.c_fc", SIZE_C, SIZE_4C, .bias = true),
    LINEAR(fcproj, "transformer.h.%d.mlp.c_proj", SIZE_4C, SIZE_C, .bias = true, .residual = true),
    NORM(ln_f, "transformer.ln_f", SIZE_C, .start = 1, .bias = true),
};

/* Arrays that the backward pass reads, of each block and of the model; it recomputes cheap ones. */
typedef struct {
    Array x, qkv; /* x [N,C] enters the block; qkv [N,3C] */
    Attended attended;
    Array mid, fc;    /* mid [N,C]: x between attention and MLP; fc [N,4C] */
    Array last, ln_f; /* x after the last block, and its norm */
} Activations;

/* Sites of dropout: each has its own masks. */
enum { DROP_EMBEDDING, DROP_ATTENTION, DROP_PROJ, DROP_MLP };

/* ---- forward ---- */

static Array block(Tape *p, const Weights *w, Activations *a, Array x) {
    a->x = x;
    a->qkv = linear(p, layernorm(p, x, w->ln_1), w->qkv);
    a->attended = attention_qkv(p, heads(p), a->qkv, DROP_ATTENTION);
    a->mid = add(p, x, dropout(p, linear(p, a->attended.out, w->proj), DROP_PROJ));

    a->fc = linear(p, layernorm(p, a->mid, w->ln_2), w->fc);
    return add(p, a->mid, dropout(p, linear(p, gelu(p, a->fc), w->fcproj), DROP_MLP));
}

static Array forward(Tape *p, const Weights *w, Activations *a) {
    Array x = dropout(p, embedding(p, w->wte, w->wpe), DROP_EMBEDDING);
    for (int l = 0; l < blocks(p); l++) x = block(begin_block(p, l), &w[l], &a[l], x);
    a->last = x;
    a->ln_f = layernorm(p, x, w->ln_f);
    return linear(p, a->ln_f, tied(w->wte));
}

/* ---- backward ----
 * dx is the gradient of the residual stream: it goes through the blocks from the last to the
 * first, and each branch adds its own part. */

static Array block_backward(Tape *p, const Weights *w, const Activations *a, Array dx) {
    Array dmlp = dropout_backward(p, dx, DROP_MLP), h;
    Array dfc = gelu_backward(p, &h, linear_dx(p, dmlp, w->fcproj), a->fc);
    linear_gradients(p, dmlp, h, w->fcproj);
    Array dh = linear_backward(p, dfc, layernorm(p, a->mid, w->ln_2), w->fc);
    dx = layernorm_backward(p, dx, dh, a->mid, w->ln_2);

    Array dproj = dropout_backward(p, dx, DROP_PROJ);
    Array dqkv =
        attention_qkv_backward(p, linear_backward(p, dproj, a->attended.out, w->proj), a->attended);
    dh = linear_backward(p, dqkv, layernorm(p, a->x, w->ln_1), w->qkv);
    return layernorm_backward(p, dx, dh, a->x, w->ln_1);
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    Array dln_f = linear_backward(p, dlogits, a->ln_f, tied(w->wte));
    Array dx = layernorm_backward(p, NO_ARRAY, dln_f, a->last, w->ln_f);
    for (int l = blocks(p) - 1; l >= 0; l--)
        dx = block_backward(begin_block(p, l), &w[l], &a[l], dx);
    dx = dropout_backward(p, dx, DROP_EMBEDDING);
    embedding_gradients(p, w->wte, w->wpe, dx);
}

RUNG(gpt, "the block of GPT-2, stacked: residuals, norms, MLP, dropout, tied output layer",
     .has_heads = true);
