/* head.c - the mean becomes one masked self-attention head (Vaswani et al., "Attention Is All You
 * Need", 2017, eq. 1).
 *
 *     x       = wte[id] + wpe[position]
 *     q, k, v = query(x), key(x), value(x)
 *     out     = softmax(mask(q k^T / sqrt(C))) v
 *     y       = x + proj(out)
 *     logits  = lm_head(y)
 *
 * New compared with average: each position chooses by its query which of the past to read. */
#include "model/rungs/rung.h"

typedef struct {
    Table wte, wpe;
    Linear query, key, value, proj, lm_head;
} Weights;

static const WeightSpec weights[] = {
    TABLE(wte, "token_embedding_table", SIZE_V, SIZE_C),
    TABLE(wpe, "position_embedding_table", SIZE_T, SIZE_C),
    LINEAR(query, "sa_head.query", SIZE_C, SIZE_C),
    LINEAR(key, "sa_head.key", SIZE_C, SIZE_C),
    LINEAR(value, "sa_head.value", SIZE_C, SIZE_C),
    LINEAR(proj, "sa_head.proj", SIZE_C, SIZE_C, .bias = true),
    LINEAR(lm_head, "lm_head", SIZE_C, SIZE_V, .bias = true),
};

typedef struct {
    Array x, q, k, v, y; /* [N,C] */
    Attended attended;
} Activations;

static Array forward(Tape *p, const Weights *w, Activations *a) {
    a->x = embedding(p, w->wte, w->wpe);
    a->q = linear(p, a->x, w->query);
    a->k = linear(p, a->x, w->key);
    a->v = linear(p, a->x, w->value);
    a->attended = attention(p, 1, a->q, a->k, a->v, NO_DROPOUT);
    a->y = add(p, a->x, linear(p, a->attended.out, w->proj));
    return linear(p, a->y, w->lm_head);
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    Array dy = linear_backward(p, dlogits, a->y, w->lm_head);
    Array dout = linear_backward(p, dy, a->attended.out, w->proj), dq, dk, dv;
    attention_backward(p, &dq, &dk, &dv, dout, a->attended);

    /* x was used four times: dx is the sum of four gradients */
    Array dx = add(p, linear_backward(p, dq, a->x, w->query), dy);
    dx = add(p, dx, linear_backward(p, dk, a->x, w->key));
    dx = add(p, dx, linear_backward(p, dv, a->x, w->value));
    embedding_gradients(p, w->wte, w->wpe, dx);
}

RUNG(head, "attention in place of the mean: query, key, value, one masked head");
