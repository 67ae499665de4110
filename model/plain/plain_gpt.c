/* plain_gpt.c - the whole of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask
 * Learners", 2019), without dropout.
 *
 *     x = wte[id] + wpe[t]
 *     for each of L blocks:
 *         x = x + attn.c_proj(attention(attn.c_attn(ln_1(x))))
 *         x = x + mlp.c_proj(gelu(mlp.c_fc(ln_2(x))))
 *     logits = ln_f(x) wte^T
 * Linear layers and norms have biases, except the output layer wte. */
#include "model/plain/plain_layers.h"

static Array block(Plain *p, int l, Array x) {
    int C = p->model->config.C, NH = p->model->config.NH;
    Weights ln_1 = plain_weights(p, "transformer.h.%d.ln_1", l);             /* (C) */
    Weights c_attn = plain_weights(p, "transformer.h.%d.attn.c_attn", l);    /* (3C, C) */
    Weights attn_proj = plain_weights(p, "transformer.h.%d.attn.c_proj", l); /* (C, C) */
    Weights ln_2 = plain_weights(p, "transformer.h.%d.ln_2", l);             /* (C) */
    Weights c_fc = plain_weights(p, "transformer.h.%d.mlp.c_fc", l);         /* (4C, C) */
    Weights mlp_proj = plain_weights(p, "transformer.h.%d.mlp.c_proj", l);   /* (C, 4C) */

    Array h = plain_norm(p, x, ln_1);                     /* (T, C) */
    Array qkv = plain_linear(p, h, c_attn);               /* (T, 3C) */
    Array q = plain_columns(p, qkv, 0, C);                /* (T, C) */
    Array k = plain_columns(p, qkv, C, C);                /* (T, C) */
    Array v = plain_columns(p, qkv, 2 * C, C);            /* (T, C) */
    Array att = plain_attention(p, q, k, NH);             /* (NH, T, T) */
    Array out = plain_weighted_mean(p, att, v);           /* (T, C) */
    x = plain_add(p, x, plain_linear(p, out, attn_proj)); /* (T, C) */

    h = plain_norm(p, x, ln_2);                              /* (T, C) */
    Array fc = plain_linear(p, h, c_fc);                     /* (T, 4C) */
    Array gelu = plain_gelu(p, fc);                          /* (T, 4C) */
    return plain_add(p, x, plain_linear(p, gelu, mlp_proj)); /* (T, C) */
}

Array plain_gpt(Plain *p, const int32_t *ids, int T) {
    Weights wte = plain_weights(p, "transformer.wte");   /* (V, C) */
    Weights wpe = plain_weights(p, "transformer.wpe");   /* (T, C) */
    Weights ln_f = plain_weights(p, "transformer.ln_f"); /* (C) */

    Array tok = plain_embedding(p, ids, wte, T); /* (T, C) */
    Array pos = plain_positions(p, wpe, T);      /* (T, C) */
    Array x = plain_add(p, tok, pos);            /* (T, C) */
    for (int l = 0; l < p->model->config.L; l++) x = block(p, l, x);
    return plain_linear(p, plain_norm(p, x, ln_f), wte); /* (T, V) */
}
