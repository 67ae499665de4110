/* modern.c - the field's usual design now: the architecture of Qwen3 (Yang et al., "Qwen3 Technical
 * Report", 2025), without dropout; conv, the same with causal convolutions; and ngram, conv with a
 * counted model.
 *
 *     x = embed_tokens[id]                            ngram: + ngram_proj(sqrt(p))
 *     for each of L blocks:
 *         h = input_layernorm(x)                      conv: convolution(input_layernorm(x))
 *         q = rotary(q_norm(q_proj(h))), k = rotary(k_norm(k_proj(h))), v = v_proj(h)
 *         x = x + o_proj(attention(q, shared(k), shared(v)))
 *         h = post_attention_layernorm(x)             conv: convolution(...)
 *         x = x + down_proj(silu(gate_proj(h)) up_proj(h))
 *     h = norm(x)
 *     logits = h embed_tokens^T                       ngram: + (1 + ngram_gate(h)) ln p
 *     loss   = the mean of -ln softmax(logits)[target]
 *
 * All norms are RMSNorm; q_norm and k_norm are of each head. The MLP has H channels inside. There
 * are NH heads of queries, of C channels together, and NKV of keys and values, of KV channels. */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

/* A block: its weights, and the arrays of its forward pass that the backward pass reads. */
typedef struct {
    Weights norm1, conv1, q_proj, k_proj, v_proj, q_norm, k_norm, o_proj;
    Weights norm2, conv2, gate_proj, up_proj, down_proj;
    bool convolves;
    Array x, n1, h1; /* n1: before the convolution, if there is one */
    Array q_raw, k_raw, q_normed, k_normed, q, k, v;
    Array k_shared, v_shared, att, out, attn;
    Array mid, n2, h2, gate, up, swiglu, mlp, y; /* mid: x between attention and MLP */
} Block;

static void block_weights(const Plain *p, Block *a, int l) {
    a->norm1 = plain_weights(p, "model.layers.%d.input_layernorm", l);          /* (C) */
    a->q_proj = plain_weights(p, "model.layers.%d.self_attn.q_proj", l);        /* (C, C) */
    a->k_proj = plain_weights(p, "model.layers.%d.self_attn.k_proj", l);        /* (KV, C) */
    a->v_proj = plain_weights(p, "model.layers.%d.self_attn.v_proj", l);        /* (KV, C) */
    a->q_norm = plain_weights(p, "model.layers.%d.self_attn.q_norm", l);        /* (hs) */
    a->k_norm = plain_weights(p, "model.layers.%d.self_attn.k_norm", l);        /* (hs) */
    a->o_proj = plain_weights(p, "model.layers.%d.self_attn.o_proj", l);        /* (C, C) */
    a->norm2 = plain_weights(p, "model.layers.%d.post_attention_layernorm", l); /* (C) */
    a->gate_proj = plain_weights(p, "model.layers.%d.mlp.gate_proj", l);        /* (H, C) */
    a->up_proj = plain_weights(p, "model.layers.%d.mlp.up_proj", l);            /* (H, C) */
    a->down_proj = plain_weights(p, "model.layers.%d.mlp.down_proj", l);        /* (C, H) */
    if (!a->convolves) return;
    a->conv1 = plain_weights(p, "model.layers.%d.input_conv", l);          /* (4, C) */
    a->conv2 = plain_weights(p, "model.layers.%d.post_attention_conv", l); /* (4, C) */
}

static Array block_forward(Plain *p, Block *a, Array x) {
    int NH = p->model->config.NH, NKV = a->k_proj.rows / a->k_norm.rows;
    a->x = x;                                                             /* (T, C) */
    a->n1 = plain_rmsnorm(p, x, a->norm1);                                /* (T, C) */
    a->h1 = a->convolves ? plain_convolution(p, a->n1, a->conv1) : a->n1; /* (T, C) */
    a->q_raw = plain_linear(p, a->h1, a->q_proj);                         /* (T, C) */
    a->k_raw = plain_linear(p, a->h1, a->k_proj);                         /* (T, KV) */
    a->v = plain_linear(p, a->h1, a->v_proj);                             /* (T, KV) */
    a->q_normed = plain_rmsnorm(p, a->q_raw, a->q_norm);                  /* (T, C) */
    a->k_normed = plain_rmsnorm(p, a->k_raw, a->k_norm);                  /* (T, KV) */
    a->q = plain_rotary(p, a->q_normed, NH);                              /* (T, C) */
    a->k = plain_rotary(p, a->k_normed, NKV);                             /* (T, KV) */
    a->k_shared = plain_shared(p, a->k, NH, NKV);                         /* (T, C) */
    a->v_shared = plain_shared(p, a->v, NH, NKV);                         /* (T, C) */
    a->att = plain_attention(p, a->q, a->k_shared, NH);                   /* (NH, T, T) */
    a->out = plain_weighted_mean(p, a->att, a->v_shared);                 /* (T, C) */
    a->attn = plain_linear(p, a->out, a->o_proj);                         /* (T, C) */
    a->mid = plain_add(p, x, a->attn);                                    /* (T, C) */

    a->n2 = plain_rmsnorm(p, a->mid, a->norm2);                           /* (T, C) */
    a->h2 = a->convolves ? plain_convolution(p, a->n2, a->conv2) : a->n2; /* (T, C) */
    a->gate = plain_linear(p, a->h2, a->gate_proj);                       /* (T, H) */
    a->up = plain_linear(p, a->h2, a->up_proj);                           /* (T, H) */
    a->swiglu = plain_swiglu(p, a->gate, a->up);                          /* (T, H) */
    a->mlp = plain_linear(p, a->swiglu, a->down_proj);                    /* (T, C) */
    return a->y = plain_add(p, a->mid, a->mlp);                           /* (T, C) */
}

/* The same lines, from the last to the first. */
static void block_backward(const Block *a, int NH) {
    int NKV = a->k_proj.rows / a->k_norm.rows;
    plain_add_backward(a->y, a->mid, a->mlp);
    plain_linear_backward(a->mlp, a->swiglu, a->down_proj);
    plain_swiglu_backward(a->swiglu, a->gate, a->up);
    plain_linear_backward(a->up, a->h2, a->up_proj);
    plain_linear_backward(a->gate, a->h2, a->gate_proj);
    if (a->convolves) plain_convolution_backward(a->h2, a->n2, a->conv2);
    plain_rmsnorm_backward(a->n2, a->mid, a->norm2);

    plain_add_backward(a->mid, a->x, a->attn);
    plain_linear_backward(a->attn, a->out, a->o_proj);
    plain_weighted_mean_backward(a->out, a->att, a->v_shared);
    plain_attention_backward(a->att, a->q, a->k_shared);
    plain_shared_backward(a->v_shared, a->v, NH, NKV);
    plain_shared_backward(a->k_shared, a->k, NH, NKV);
    plain_rotary_backward(a->k, a->k_normed, NKV);
    plain_rotary_backward(a->q, a->q_normed, NH);
    plain_rmsnorm_backward(a->k_normed, a->k_raw, a->k_norm);
    plain_rmsnorm_backward(a->q_normed, a->q_raw, a->q_norm);
    plain_linear_backward(a->v, a->h1, a->v_proj);
    plain_linear_backward(a->k_raw, a->h1, a->k_proj);
    plain_linear_backward(a->q_raw, a->h1, a->q_proj);
    if (a->convolves) plain_convolution_backward(a->h1, a->n1, a->conv1);
    plain_rmsnorm_backward(a->n1, a->x, a->norm1);
}

/* The counted model, beside the network. */
typedef struct {
    Weights proj, gate;
    Array roots, logarithms, read, trust; /* read: what the network reads of it */
} Counted;

static Array rung(Plain *p, const int32_t *ids, const int32_t *targets, int T, bool convolves,
                  bool counts) {
    int L = p->model->config.L;
    Weights embed_tokens = plain_weights(p, "model.embed_tokens"); /* (V, C) */
    Weights norm = plain_weights(p, "model.norm");                 /* (C) */
    Block blocks[MAX_LAYERS];
    Counted c;

    /* forward */
    Array tok = plain_embedding(p, ids, embed_tokens, T), x = tok; /* (T, C) */
    if (counts) {
        c.proj = plain_weights(p, "model.ngram_proj");     /* (C, V) */
        c.gate = plain_weights(p, "model.ngram_gate");     /* (1, C) */
        plain_counted(p, ids, T, &c.roots, &c.logarithms); /* (T, V) */
        c.read = plain_linear(p, c.roots, c.proj);         /* (T, C) */
        x = plain_add(p, tok, c.read);                     /* (T, C) */
    }
    Array first = x;
    for (int l = 0; l < L; l++) {
        blocks[l].convolves = convolves;
        block_weights(p, &blocks[l], l);
        x = block_forward(p, &blocks[l], x); /* (T, C) */
    }
    Array h = plain_rmsnorm(p, x, norm);                        /* (T, C) */
    Array own = plain_linear(p, h, embed_tokens), logits = own; /* (T, V) */
    if (counts) {
        c.trust = plain_linear(p, h, c.gate);                  /* (T, 1) */
        logits = plain_trusted(p, own, c.trust, c.logarithms); /* (T, V) */
    }
    if (!targets) return logits;

    /* backward */
    plain_cross_entropy_backward(logits, targets);
    if (counts) {
        plain_trusted_backward(logits, own, c.trust, c.logarithms);
        plain_linear_backward(c.trust, h, c.gate);
    }
    plain_linear_backward(own, h, embed_tokens);
    plain_rmsnorm_backward(h, x, norm);
    for (int l = L; l-- > 0;) block_backward(&blocks[l], p->model->config.NH);
    if (counts) {
        plain_add_backward(first, tok, c.read);
        plain_linear_backward(c.read, c.roots, c.proj);
    }
    plain_embedding_backward(tok, ids, embed_tokens);
    return logits;
}

Array plain_modern(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    return rung(p, ids, targets, T, false, false);
}

Array plain_conv(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    return rung(p, ids, targets, T, true, false);
}

Array plain_ngram(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    return rung(p, ids, targets, T, true, true);
}
