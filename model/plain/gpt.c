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
    double *x, *h1, *q, *k, *v, *att, *out; /* h1: ln_1 of x */
    double *mid, *h2, *fc, *gelu;           /* mid: x between attention and MLP; h2: ln_2 of it */
} Block;

static double *block_forward(Plain *p, Block *a, int l, double *x, int T) {
    int C = p->model->config.C, NH = p->model->config.NH;
    a->ln_1 = plain_weights(p, "transformer.h.%d.ln_1", l);             /* (C) and bias (C) */
    a->c_attn = plain_weights(p, "transformer.h.%d.attn.c_attn", l);    /* (3C, C) and bias (3C) */
    a->attn_proj = plain_weights(p, "transformer.h.%d.attn.c_proj", l); /* (C, C) and bias (C) */
    a->ln_2 = plain_weights(p, "transformer.h.%d.ln_2", l);             /* (C) and bias (C) */
    a->c_fc = plain_weights(p, "transformer.h.%d.mlp.c_fc", l);         /* (4C, C) and bias (4C) */
    a->mlp_proj = plain_weights(p, "transformer.h.%d.mlp.c_proj", l);   /* (C, 4C) and bias (C) */

    a->x = x;                                                /* (T, C) */
    a->h1 = plain_layernorm(p, x, a->ln_1, T);               /* (T, C) */
    double *qkv = plain_linear(p, a->h1, a->c_attn, T);      /* (T, 3C) */
    a->q = plain_columns(p, qkv, 0, C, T, 3 * C);            /* (T, C) */
    a->k = plain_columns(p, qkv, C, C, T, 3 * C);            /* (T, C) */
    a->v = plain_columns(p, qkv, 2 * C, C, T, 3 * C);        /* (T, C) */
    a->att = plain_attention(p, a->q, a->k, T, C, NH);       /* (NH, T, T) */
    a->out = plain_weighted_mean(p, a->att, a->v, T, C, NH); /* (T, C) */
    double *attn = plain_linear(p, a->out, a->attn_proj, T); /* (T, C) */
    a->mid = plain_add(p, x, attn, T * C);                   /* (T, C) */

    a->h2 = plain_layernorm(p, a->mid, a->ln_2, T);         /* (T, C) */
    a->fc = plain_linear(p, a->h2, a->c_fc, T);             /* (T, 4C) */
    a->gelu = plain_gelu(p, a->fc, T * 4 * C);              /* (T, 4C) */
    double *mlp = plain_linear(p, a->gelu, a->mlp_proj, T); /* (T, C) */
    return plain_add(p, a->mid, mlp, T * C);                /* (T, C) */
}

/* The same lines, from the last to the first. Returns dx. */
static double *block_backward(Plain *p, const Block *a, double *dy, int T) {
    int C = p->model->config.C, NH = p->model->config.NH;
    double *dmlp = plain_zeros(p, T, C), *dgelu = plain_zeros(p, T, 4 * C);
    double *dfc = plain_zeros(p, T, 4 * C), *dh2 = plain_zeros(p, T, C);
    double *dmid = plain_zeros(p, T, C), *dattn = plain_zeros(p, T, C);
    double *dout = plain_zeros(p, T, C), *datt = plain_zeros(p, NH * T, T);
    double *dv = plain_zeros(p, T, C), *dk = plain_zeros(p, T, C), *dq = plain_zeros(p, T, C);
    double *dqkv = plain_zeros(p, T, 3 * C), *dh1 = plain_zeros(p, T, C);
    double *dx = plain_zeros(p, T, C);

    plain_add_backward(dmid, dmlp, dy, T * C);
    plain_linear_backward(dgelu, dmlp, a->gelu, a->mlp_proj, T);
    plain_gelu_backward(dfc, dgelu, a->fc, T * 4 * C);
    plain_linear_backward(dh2, dfc, a->h2, a->c_fc, T);
    plain_layernorm_backward(dmid, dh2, a->mid, a->ln_2, T);

    plain_add_backward(dx, dattn, dmid, T * C);
    plain_linear_backward(dout, dattn, a->out, a->attn_proj, T);
    plain_weighted_mean_backward(datt, dv, dout, a->att, a->v, T, C, NH);
    plain_attention_backward(dq, dk, datt, a->att, a->q, a->k, T, C, NH);
    plain_columns_backward(dqkv, dv, 2 * C, C, T, 3 * C);
    plain_columns_backward(dqkv, dk, C, C, T, 3 * C);
    plain_columns_backward(dqkv, dq, 0, C, T, 3 * C);
    plain_linear_backward(dh1, dqkv, a->h1, a->c_attn, T);
    plain_layernorm_backward(dx, dh1, a->x, a->ln_1, T);
    return dx;
}

double *plain_gpt(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int C = p->model->config.C, V = p->model->config.V, L = p->model->config.L;
    Weights wte = plain_weights(p, "transformer.wte");   /* (V, C) */
    Weights wpe = plain_weights(p, "transformer.wpe");   /* (T, C) */
    Weights ln_f = plain_weights(p, "transformer.ln_f"); /* (C) and bias (C) */
    Block blocks[MAX_LAYERS];

    /* forward */
    double *tok = plain_embedding(p, ids, wte, T); /* (T, C) */
    double *pos = plain_positions(p, wpe, T);      /* (T, C) */
    double *x = plain_add(p, tok, pos, T * C);     /* (T, C) */
    for (int l = 0; l < L; l++) x = block_forward(p, &blocks[l], l, x, T);
    double *h = plain_layernorm(p, x, ln_f, T);  /* (T, C) */
    double *logits = plain_linear(p, h, wte, T); /* (T, V) */
    if (!targets) return logits;

    /* backward */
    double *dlogits = plain_zeros(p, T, V), *dh = plain_zeros(p, T, C);
    double *dx = plain_zeros(p, T, C), *dpos = plain_zeros(p, T, C), *dtok = plain_zeros(p, T, C);
    plain_cross_entropy_backward(dlogits, logits, targets, T, V);
    plain_linear_backward(dh, dlogits, h, wte, T);
    plain_layernorm_backward(dx, dh, x, ln_f, T);
    for (int l = L; l-- > 0;) dx = block_backward(p, &blocks[l], dx, T);
    plain_add_backward(dtok, dpos, dx, T * C);
    plain_positions_backward(dpos, wpe, T);
    plain_embedding_backward(dtok, ids, wte, T);
    return logits;
}
