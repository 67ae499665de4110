/* plain_average.c - each position sees the plain mean of its past.
 *
 *     x      = wte[id] + wpe[t]
 *     att    = tril(ones), each row divided by its sum
 *     y      = x + proj(att x)
 *     logits = lm_head(y) */
#include "model/plain/plain_layers.h"

Array plain_average(Plain *p, const int32_t *ids, int T) {
    Weights wte = plain_weights(p, "token_embedding_table");    /* (V, C) */
    Weights wpe = plain_weights(p, "position_embedding_table"); /* (T, C) */
    Weights proj = plain_weights(p, "mean.proj");               /* (C, C) and bias (C) */
    Weights lm_head = plain_weights(p, "lm_head");              /* (V, C) and bias (V) */

    Array tok = plain_embedding(p, ids, wte, T); /* (T, C) */
    Array pos = plain_positions(p, wpe, T);      /* (T, C) */
    Array x = plain_add(p, tok, pos);            /* (T, C) */
    Array att = plain_mean_of_past(p, T);        /* (1, T, T) */
    Array out = plain_weighted_mean(p, att, x);  /* (T, C) */
    Array branch = plain_linear(p, out, proj);   /* (T, C) */
    Array y = plain_add(p, x, branch);           /* (T, C) */
    return plain_linear(p, y, lm_head);          /* (T, V) */
}
