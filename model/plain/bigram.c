/* bigram.c - the next character from this one: a V x V table of logits.
 *
 *     logits = table[id]
 *     loss   = the mean of -ln softmax(logits)[target] */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

double *plain_bigram(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int V = p->model->config.V;
    Weights table = plain_weights(p, "token_embedding_table"); /* (V, V) */

    /* forward */
    double *logits = plain_embedding(p, ids, table, T); /* (T, V) */
    if (!targets) return logits;

    /* backward */
    double *dlogits = plain_zeros(p, T, V);
    plain_cross_entropy_backward(dlogits, logits, targets, T, V);
    plain_embedding_backward(dlogits, ids, table, T);
    return logits;
}
