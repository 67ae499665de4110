/* gpt.c - the whole of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask
 * Learners", 2019), without dropout.
 *
 *     x = wte[id] + wpe[t]
 *     for each of L blocks:
 *         x = x + attn.c_proj(attention(attn.c_attn(ln_1(x))))
 *         x = x + mlp.c_proj(gelu(mlp.c_fc(ln_2(x))))
 *     logits = ln_f(x) wte^T
 *     loss   = the mean of -ln softmax(logits)[target] */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

/* A block: its weights, and the arrays of its forward pass that the backward pass reads. */
typedef struct {
    Weights ln_1, c_attn, attn_proj, ln_2, c_fc, mlp_proj;
    Array x, h1, qkv, q, k, v, att, out, attn; /* h1: ln_1 of x */
    Array mid, h2, fc, gelu, mlp, y; /* mid: x between attention and MLP; h2: ln_2 of it */
} Block;

static Array block_forward(Plain *p, Block *a, int l, Array x) {
    int C = p->model->config.C, NH = p->model->config.NH;
    a->ln_1 = plain_weights(p, "transformer.h.%d.ln_1", l);             /* (C) and bias (C) */
    a->c_attn = plain_weights(p, "transformer.h.%d.attn.c_attn", l);    /* (3C, C) and bias (3C) */
    a->attn_proj = plain_weights(p, "transformer.h.%d.attn.c_proj", l); /* (C, C) and bias (C) */
    a->ln_2 = plain_weights(p, "transformer.h.%d.ln_2", l);             /* (C) and bias (C) */
    a->c_fc = plain_weights(p, "transformer.h.%d.mlp.c_fc", l);         /* (4C, C) and bias (4C) */
    a->mlp_proj = plain_weights(p, "transformer.h.%d.mlp.c_proj", l);   /* (C, 4C) and bias (C) */

    a->x = x;                                        /* (T, C) */
    a->h1 = plain_layernorm(p, x, a->ln_1);          /* (T, C) */
    a->qkv = plain_linear(p, a->h1, a->c_attn);      /* (T, 3C) */
    a->q = plain_columns(p, a->qkv, 0, C);           /* (T, C) */
    a->k = plain_columns(p, a->qkv, C, C);           /* (T, C) */
    a->v = plain_columns(p, a->qkv, 2 * C, C);       /* (T, C) */
    a->att = plain_attention(p, a->q, a->k, NH);     /* (NH, T, T) */
    a->out = plain_weighted_mean(p, a->att, a->v);   /* (T, C) */
    a->attn = plain_linear(p, a->out, a->attn_proj); /* (T, C) */
    a->mid = plain_add(p, x, a->attn);               /* (T, C) */

    a->h2 = plain_layernorm(p, a->mid, a->ln_2);    /* (T, C) */
    a->fc = plain_linear(p, a->h2, a->c_fc);        /* (T, 4C) */
    a->gelu = plain_gelu(p, a->fc);                 /* (T, 4C) */
    a->mlp = plain_linear(p, a->gelu, a->mlp_proj); /* (T, C) */
    return a->y = plain_add(p, a->mid, a->mlp);     /* (T, C) */
}

/* The same lines, from the last to the first. */
static void block_backward(const Block *a) {
    int C = a->x.columns;
    plain_add_backward(a->y, a->mid, a->mlp);
    plain_linear_backward(a->mlp, a->gelu, a->mlp_proj);
    plain_gelu_backward(a->gelu, a->fc);
    plain_linear_backward(a->fc, a->h2, a->c_fc);
    plain_layernorm_backward(a->h2, a->mid, a->ln_2);

    plain_add_backward(a->mid, a->x, a->attn);
    plain_linear_backward(a->attn, a->out, a->attn_proj);
    plain_weighted_mean_backward(a->out, a->att, a->v);
    plain_attention_backward(a->att, a->q, a->k);
    plain_columns_backward(a->v, a->qkv, 2 * C);
    plain_columns_backward(a->k, a->qkv, C);
    plain_columns_backward(a->q, a->qkv, 0);
    plain_linear_backward(a->qkv, a->h1, a->c_attn);
    plain_layernorm_backward(a->h1, a->x, a->ln_1);
}

Array plain_gpt(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int L = p->model->config.L;
    Weights wte = plain_weights(p, "transformer.wte");   /* (V, C) */
    Weights wpe = plain_weights(p, "transformer.wpe");   /* (T, C) */
    Weights ln_f = plain_weights(p, "transformer.ln_f"); /* (C) and bias (C) */
    Block blocks[MAX_LAYERS];

    /* forward */
    Array tok = plain_embedding(p, ids, wte, T);           /* (T, C) */
    Array pos = plain_positions(p, wpe, T);                /* (T, C) */
    Array embedded = plain_add(p, tok, pos), x = embedded; /* (T, C) */
    for (int l = 0; l < L; l++) x = block_forward(p, &blocks[l], l, x);
    Array h = plain_layernorm(p, x, ln_f);  /* (T, C) */
    Array logits = plain_linear(p, h, wte); /* (T, V) */
    if (!targets) return logits;

    /* backward */
    plain_cross_entropy_backward(logits, targets);
    plain_linear_backward(logits, h, wte);
    plain_layernorm_backward(h, x, ln_f);
    for (int l = L; l-- > 0;) block_backward(&blocks[l]);
    plain_add_backward(embedded, tok, pos);
    plain_positions_backward(pos, wpe);
    plain_embedding_backward(tok, ids, wte);
    return logits;
}
