/* multihead.c - several heads side by side, concatenated, projected.
 *
 *     x       = wte[id] + wpe[t]
 *     q, k, v = the three thirds of qkv(x)
 *     att[h]  = softmax(mask(q[h] k[h]^T / sqrt(C / NH)))    head h has C / NH of the channels
 *     y       = x + proj(att[0] v[0], att[1] v[1], ...)
 *     logits  = lm_head(y)
 *     loss    = the mean of -ln softmax(logits)[target] */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

double *plain_multihead(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int C = p->model->config.C, V = p->model->config.V, NH = p->model->config.NH;
    Weights wte = plain_weights(p, "token_embedding_table");    /* (V, C) */
    Weights wpe = plain_weights(p, "position_embedding_table"); /* (T, C) */
    Weights c_attn = plain_weights(p, "sa_heads.qkv");          /* (3C, C) */
    Weights proj = plain_weights(p, "sa_heads.proj");           /* (C, C) and bias (C) */
    Weights lm_head = plain_weights(p, "lm_head");              /* (V, C) and bias (V) */

    /* forward */
    double *tok = plain_embedding(p, ids, wte, T);          /* (T, C) */
    double *pos = plain_positions(p, wpe, T);               /* (T, C) */
    double *x = plain_add(p, tok, pos, T * C);              /* (T, C) */
    double *qkv = plain_linear(p, x, c_attn, T);            /* (T, 3C) */
    double *q = plain_columns(p, qkv, 0, C, T, 3 * C);      /* (T, C) */
    double *k = plain_columns(p, qkv, C, C, T, 3 * C);      /* (T, C) */
    double *v = plain_columns(p, qkv, 2 * C, C, T, 3 * C);  /* (T, C) */
    double *att = plain_attention(p, q, k, T, C, NH);       /* (NH, T, T) */
    double *out = plain_weighted_mean(p, att, v, T, C, NH); /* (T, C) */
    double *branch = plain_linear(p, out, proj, T);         /* (T, C) */
    double *y = plain_add(p, x, branch, T * C);             /* (T, C) */
    double *logits = plain_linear(p, y, lm_head, T);        /* (T, V) */
    if (!targets) return logits;

    /* backward: the same lines, from the last to the first */
    double *dlogits = plain_zeros(p, T, V), *dy = plain_zeros(p, T, C);
    double *dbranch = plain_zeros(p, T, C), *dout = plain_zeros(p, T, C);
    double *datt = plain_zeros(p, NH * T, T), *dv = plain_zeros(p, T, C);
    double *dk = plain_zeros(p, T, C), *dq = plain_zeros(p, T, C);
    double *dqkv = plain_zeros(p, T, 3 * C);
    double *dx = plain_zeros(p, T, C), *dpos = plain_zeros(p, T, C), *dtok = plain_zeros(p, T, C);
    plain_cross_entropy_backward(dlogits, logits, targets, T, V);
    plain_linear_backward(dy, dlogits, y, lm_head, T);
    plain_add_backward(dx, dbranch, dy, T * C);
    plain_linear_backward(dout, dbranch, out, proj, T);
    plain_weighted_mean_backward(datt, dv, dout, att, v, T, C, NH);
    plain_attention_backward(dq, dk, datt, att, q, k, T, C, NH);
    plain_columns_backward(dqkv, dv, 2 * C, C, T, 3 * C);
    plain_columns_backward(dqkv, dk, C, C, T, 3 * C);
    plain_columns_backward(dqkv, dq, 0, C, T, 3 * C);
    plain_linear_backward(dx, dqkv, x, c_attn, T);
    plain_add_backward(dtok, dpos, dx, T * C);
    plain_positions_backward(dpos, wpe, T);
    plain_embedding_backward(dtok, ids, wte, T);
    return logits;
}
