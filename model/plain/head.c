/* head.c - the mean becomes attention: one masked head (Vaswani et al., "Attention Is All You
 * Need", 2017, eq. 1).
 *
 *     x       = wte[id] + wpe[t]
 *     q, k, v = query(x), key(x), value(x)
 *     att     = softmax(mask(q k^T / sqrt(C)))
 *     y       = x + proj(att v)
 *     logits  = lm_head(y)
 *     loss    = the mean of -ln softmax(logits)[target] */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

double *plain_head(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int C = p->model->config.C, V = p->model->config.V;
    Weights wte = plain_weights(p, "token_embedding_table");    /* (V, C) */
    Weights wpe = plain_weights(p, "position_embedding_table"); /* (T, C) */
    Weights query = plain_weights(p, "sa_head.query");          /* (C, C) */
    Weights key = plain_weights(p, "sa_head.key");              /* (C, C) */
    Weights value = plain_weights(p, "sa_head.value");          /* (C, C) */
    Weights proj = plain_weights(p, "sa_head.proj");            /* (C, C) and bias (C) */
    Weights lm_head = plain_weights(p, "lm_head");              /* (V, C) and bias (V) */

    /* forward */
    double *tok = plain_embedding(p, ids, wte, T);         /* (T, C) */
    double *pos = plain_positions(p, wpe, T);              /* (T, C) */
    double *x = plain_add(p, tok, pos, T * C);             /* (T, C) */
    double *q = plain_linear(p, x, query, T);              /* (T, C) */
    double *k = plain_linear(p, x, key, T);                /* (T, C) */
    double *v = plain_linear(p, x, value, T);              /* (T, C) */
    double *att = plain_attention(p, q, k, T, C, 1);       /* (1, T, T) */
    double *out = plain_weighted_mean(p, att, v, T, C, 1); /* (T, C) */
    double *branch = plain_linear(p, out, proj, T);        /* (T, C) */
    double *y = plain_add(p, x, branch, T * C);            /* (T, C) */
    double *logits = plain_linear(p, y, lm_head, T);       /* (T, V) */
    if (!targets) return logits;

    /* backward: the same lines, from the last to the first */
    double *dlogits = plain_zeros(p, T, V), *dy = plain_zeros(p, T, C);
    double *dbranch = plain_zeros(p, T, C), *dout = plain_zeros(p, T, C);
    double *datt = plain_zeros(p, T, T), *dv = plain_zeros(p, T, C);
    double *dk = plain_zeros(p, T, C), *dq = plain_zeros(p, T, C);
    double *dx = plain_zeros(p, T, C), *dpos = plain_zeros(p, T, C), *dtok = plain_zeros(p, T, C);
    plain_cross_entropy_backward(dlogits, logits, targets, T, V);
    plain_linear_backward(dy, dlogits, y, lm_head, T);
    plain_add_backward(dx, dbranch, dy, T * C);
    plain_linear_backward(dout, dbranch, out, proj, T);
    plain_weighted_mean_backward(datt, dv, dout, att, v, T, C, 1);
    plain_attention_backward(dq, dk, datt, att, q, k, T, C, 1);
    plain_linear_backward(dx, dv, x, value, T);
    plain_linear_backward(dx, dk, x, key, T);
    plain_linear_backward(dx, dq, x, query, T);
    plain_add_backward(dtok, dpos, dx, T * C);
    plain_positions_backward(dpos, wpe, T);
    plain_embedding_backward(dtok, ids, wte, T);
    return logits;
}
