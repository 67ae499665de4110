/* multihead.c - several heads side by side, concatenated and projected.
 *
 *     x      = wte[id] + wpe[position]
 *     q,k,v  = qkv(x)                  one product for all three and for every head
 *     out    = attention(q, k, v)      NH heads of hs = C/NH channels, scores / sqrt(hs)
 *     y      = x + proj(out)
 *     logits = lm_head(y)
 *
 * New compared with head: a position can read several others at once, each for a different
 * reason, at the same cost. */
#include "model/rungs/rung.h"

typedef struct {
    Table wte, wpe;
    Linear qkv, proj, lm_head;
} Weights;

static const WeightSpec weights[] = {
    TABLE(wte, "token_embedding_table", SIZE_V, SIZE_C),
    TABLE(wpe, "position_embedding_table", SIZE_T, SIZE_C),
    LINEAR(qkv, "sa_heads.qkv", SIZE_C, SIZE_3C),
    LINEAR(proj, "sa_heads.proj", SIZE_C, SIZE_C, .bias = true),
    LINEAR(lm_head, "lm_head", SIZE_C, SIZE_V, .bias = true),
};

typedef struct {
    Array x, qkv, y; /* [N,C]; qkv [N,3C] */
    Attended attended;
} Activations;

static Array forward(Tape *p, const Weights *w, Activations *a) {
    a->x = embedding(p, w->wte, w->wpe);
    a->qkv = linear(p, a->x, w->qkv);
    a->attended = attention_qkv(p, heads(p), a->qkv, NO_DROPOUT);
    a->y = add(p, a->x, linear(p, a->attended.out, w->proj));
    return linear(p, a->y, w->lm_head);
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    Array dy = linear_backward(p, dlogits, a->y, w->lm_head);
    Array dout = linear_backward(p, dy, a->attended.out, w->proj);
    Array dqkv = attention_qkv_backward(p, dout, a->attended);
    Array dx = add(p, linear_backward(p, dqkv, a->x, w->qkv), dy);
    embedding_gradients(p, w->wte, w->wpe, dx);
}

RUNG(multihead, "several heads, concatenated and projected", .has_heads = true);
