/* plain_multihead.c - several heads side by side, concatenated, projected.
 *
 *     x       = wte[id] + wpe[t]
 *     q, k, v = the three thirds of qkv(x)
 *     att[h]  = softmax(mask(q[h] k[h]^T / sqrt(C / NH)))    head h has C / NH of the channels
 *     y       = x + proj(att[0] v[0], att[1] v[1], ...)
 *     logits  = lm_head(y) */
#include "model/plain/plain_layers.h"

Array plain_multihead(Plain *p, const int32_t *ids, int T) {
    int C = p->model->config.C, NH = p->model->config.NH;
    Weights wte = plain_weights(p, "token_embedding_table");    /* (V, C) */
    Weights wpe = plain_weights(p, "position_embedding_table"); /* (T, C) */
    Weights c_attn = plain_weights(p, "sa_heads.qkv");          /* (3C, C) */
    Weights proj = plain_weights(p, "sa_heads.proj");           /* (C, C) and bias (C) */
    Weights lm_head = plain_weights(p, "lm_head");              /* (V, C) and bias (V) */

    Array tok = plain_embedding(p, ids, wte, T); /* (T, C) */
    Array pos = plain_positions(p, wpe, T);      /* (T, C) */
    Array x = plain_add(p, tok, pos);            /* (T, C) */
    Array qkv = plain_linear(p, x, c_attn);      /* (T, 3C) */
    Array q = plain_columns(p, qkv, 0, C);       /* (T, C) */
    Array k = plain_columns(p, qkv, C, C);       /* (T, C) */
    Array v = plain_columns(p, qkv, 2 * C, C);   /* (T, C) */
    Array att = plain_attention(p, q, k, NH);    /* (NH, T, T) */
    Array out = plain_weighted_mean(p, att, v);  /* (T, C) */
    Array branch = plain_linear(p, out, proj);   /* (T, C) */
    Array y = plain_add(p, x, branch);           /* (T, C) */
    return plain_linear(p, y, lm_head);          /* (T, V) */
}
