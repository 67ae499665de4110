/* plain_bigram.c - the next character from this one: a V x V table of logits.
 *
 *     logits = table[id] */
#include "model/plain/plain_layers.h"

Array plain_bigram(Plain *p, const int32_t *ids, int T) {
    Weights table = plain_weights(p, "token_embedding_table"); /* (V, V) */
    return plain_embedding(p, ids, table, T);                  /* (T, V) */
}
