/* average.c - each position sees the plain mean of its past.
 *
 *     x      = wte[id] + wpe[position]
 *     m[t]   = mean of x[0] to x[t]          the rows of a tril matrix, each divided by its sum
 *     y      = x + proj(m)
 *     logits = lm_head(y)
 *
 * New compared with bigram: characters and their positions become vectors, and the model sees
 * the past, but only its mean. */
#include "model/rungs/rung.h"

typedef struct {
    Table wte, wpe;
    Linear proj, lm_head;
} Weights;

static const WeightSpec weights[] = {
    TABLE(wte, "token_embedding_table", SIZE_V, SIZE_C),
    TABLE(wpe, "position_embedding_table", SIZE_T, SIZE_C),
    LINEAR(proj, "mean.proj", SIZE_C, SIZE_C, .bias = true),
    LINEAR(lm_head, "lm_head", SIZE_C, SIZE_V, .bias = true),
};

typedef struct {
    Array x, m, y; /* [N,C] */
} Activations;

static Array forward(Tape *p, const Weights *w, Activations *a) {
    a->x = embedding(p, w->wte, w->wpe);
    a->m = mean(p, a->x);
    a->y = add(p, a->x, linear(p, a->m, w->proj));
    return linear(p, a->y, w->lm_head);
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    Array dy = linear_backward(p, dlogits, a->y, w->lm_head);
    Array dm = linear_backward(p, dy, a->m, w->proj);
    Array dx = add(p, mean_backward(p, dm), dy);
    embedding_gradients(p, w->wte, w->wpe, dx);
}

RUNG(average, "characters and positions as vectors; the plain mean of the past");
