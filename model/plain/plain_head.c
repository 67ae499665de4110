/* plain_head.c - attention in place of the mean: one masked head (Vaswani et al., "Attention Is All
 * You Need", 2017, eq. 1).
 *
 *     x       = wte[id] + wpe[t]
 *     q, k, v = query(x), key(x), value(x)
 *     att     = softmax(mask(q k^T / sqrt(C)))
 *     y       = x + proj(att v)
 *     logits  = lm_head(y) */
#include "model/plain/plain_layers.h"

Array plain_head(Plain *p, const int32_t *ids, int T) {
    Weights wte = plain_weights(p, "token_embedding_table");    /* (V, C) */
    Weights wpe = plain_weights(p, "position_embedding_table"); /* (T, C) */
    Weights query = plain_weights(p, "sa_head.query");          /* (C, C) */
    Weights key = plain_weights(p, "sa_head.key");              /* (C, C) */
    Weights value = plain_weights(p, "sa_head.value");          /* (C, C) */
    Weights proj = plain_weights(p, "sa_head.proj");            /* (C, C) and bias (C) */
    Weights lm_head = plain_weights(p, "lm_head");              /* (V, C) and bias (V) */

    Array tok = plain_embedding(p, ids, wte, T); /* (T, C) */
    Array pos = plain_positions(p, wpe, T);      /* (T, C) */
    Array x = plain_add(p, tok, pos);            /* (T, C) */
    Array q = plain_linear(p, x, query);         /* (T, C) */
    Array k = plain_linear(p, x, key);           /* (T, C) */
    Array v = plain_linear(p, x, value);         /* (T, C) */
    Array att = plain_attention(p, q, k, 1);     /* (1, T, T) */
    Array out = plain_weighted_mean(p, att, v);  /* (T, C) */
    Array branch = plain_linear(p, out, proj);   /* (T, C) */
    Array y = plain_add(p, x, branch);           /* (T, C) */
    return plain_linear(p, y, lm_head);          /* (T, V) */
}
