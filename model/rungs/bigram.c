/* bigram.c - the next character from this one: a V x V table of logits.
 *
 *     logits = table[id]
 *
 * Row i holds the logits of the character after character i. A bigram can learn nothing else, so
 * its training run must come to the same probabilities as counting pairs. */
#include "model/rungs/rung.h"

/* Sparse, because a batch contains only a few hundred of the thousands of characters in a large
 * vocabulary: an update leaves the rows of the others as they are. */
typedef struct {
    Table table;
} Weights;

static const WeightSpec weights[] = {
    TABLE(table, "token_embedding_table", SIZE_V, SIZE_V, .zeros = true, .no_decay = true,
          .sparse = true),
};

typedef struct {
    Array logits; /* backward reads no array, but a struct needs a member */
} Activations;

static Array forward(Tape *p, const Weights *w, Activations *a) {
    a->logits = embedding(p, w->table, NO_TABLE); /* [N,V] */
    return a->logits;
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    (void)a;
    embedding_gradients(p, w->table, NO_TABLE, dlogits);
}

RUNG(bigram, "a table of logits: each character predicts the next one");
