/* bigram.c - the next character from this one: a V x V table of logits.
 *
 *     logits = table[id]
 *     loss   = the mean of -ln softmax(logits)[target] */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

Array plain_bigram(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    Weights table = plain_weights(p, "token_embedding_table"); /* (V, V) */

    /* forward */
    Array logits = plain_embedding(p, ids, table, T); /* (T, V) */
    if (!targets) return logits;

    /* backward */
    plain_cross_entropy_backward(logits, targets);
    plain_embedding_backward(logits, ids, table);
    return logits;
}
