/* plain_modern.c - today's usual design: the architecture of Qwen3 (Yang et al., "Qwen3 Technical
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
 *
 * All norms are RMSNorm; q_norm and k_norm are of each head. The MLP has H channels inside. There
 * are NH heads of queries, of C channels together, and NKV of keys and values, of KV channels. */
#include "model/plain/plain_layers.h"

/* Returns the norm of x, then convolved if the rung `convolves`. */
static Array normed(Plain *p, Array x, const char *name, int l, bool convolves) {
    Array h = plain_norm(p, x, plain_weights(p, "model.layers.%d.%s_layernorm", l, name));
    if (!convolves) return h;
    return plain_convolution(p, h, plain_weights(p, "model.layers.%d.%s_conv", l, name));
}

static Array block(Plain *p, int l, Array x, bool convolves) {
    Weights q_proj = plain_weights(p, "model.layers.%d.self_attn.q_proj", l); /* (C, C) */
    Weights k_proj = plain_weights(p, "model.layers.%d.self_attn.k_proj", l); /* (KV, C) */
    Weights v_proj = plain_weights(p, "model.layers.%d.self_attn.v_proj", l); /* (KV, C) */
    Weights q_norm = plain_weights(p, "model.layers.%d.self_attn.q_norm", l); /* (hs) */
    Weights k_norm = plain_weights(p, "model.layers.%d.self_attn.k_norm", l); /* (hs) */
    Weights o_proj = plain_weights(p, "model.layers.%d.self_attn.o_proj", l); /* (C, C) */
    Weights gate_proj = plain_weights(p, "model.layers.%d.mlp.gate_proj", l); /* (H, C) */
    Weights up_proj = plain_weights(p, "model.layers.%d.mlp.up_proj", l);     /* (H, C) */
    Weights down_proj = plain_weights(p, "model.layers.%d.mlp.down_proj", l); /* (C, H) */
    int NH = p->model->config.NH, NKV = k_proj.rows / k_norm.rows;

    Array h = normed(p, x, "input", l, convolves);               /* (T, C) */
    Array q = plain_norm(p, plain_linear(p, h, q_proj), q_norm); /* (T, C) */
    Array k = plain_norm(p, plain_linear(p, h, k_proj), k_norm); /* (T, KV) */
    Array v = plain_linear(p, h, v_proj);                        /* (T, KV) */
    q = plain_rotary(p, q, NH);                                  /* (T, C) */
    k = plain_shared(p, plain_rotary(p, k, NKV), NH, NKV);       /* (T, C) */
    v = plain_shared(p, v, NH, NKV);                             /* (T, C) */
    Array att = plain_attention(p, q, k, NH);                    /* (NH, T, T) */
    Array out = plain_weighted_mean(p, att, v);                  /* (T, C) */
    x = plain_add(p, x, plain_linear(p, out, o_proj));           /* (T, C) */

    h = normed(p, x, "post_attention", l, convolves);                  /* (T, C) */
    Array gate = plain_linear(p, h, gate_proj);                        /* (T, H) */
    Array inside = plain_swiglu(p, gate, plain_linear(p, h, up_proj)); /* (T, H) */
    return plain_add(p, x, plain_linear(p, inside, down_proj));        /* (T, C) */
}

/* Returns x after all blocks, and after the last norm. */
static Array blocks(Plain *p, Array x, bool convolves) {
    for (int l = 0; l < p->model->config.L; l++) x = block(p, l, x, convolves);
    return plain_norm(p, x, plain_weights(p, "model.norm"));
}

Array plain_modern(Plain *p, const int32_t *ids, int T) {
    Weights embed_tokens = plain_weights(p, "model.embed_tokens"); /* (V, C) */
    Array x = plain_embedding(p, ids, embed_tokens, T);            /* (T, C) */
    return plain_linear(p, blocks(p, x, false), embed_tokens);     /* (T, V) */
}

Array plain_conv(Plain *p, const int32_t *ids, int T) {
    Weights embed_tokens = plain_weights(p, "model.embed_tokens"); /* (V, C) */
    Array x = plain_embedding(p, ids, embed_tokens, T);            /* (T, C) */
    return plain_linear(p, blocks(p, x, true), embed_tokens);      /* (T, V) */
}

Array plain_ngram(Plain *p, const int32_t *ids, int T) {
    Weights embed_tokens = plain_weights(p, "model.embed_tokens"); /* (V, C) */
    Weights proj = plain_weights(p, "model.ngram_proj");           /* (C, V) */
    Weights gate = plain_weights(p, "model.ngram_gate");           /* (1, C) and bias (1) */
    Array roots, logarithms;
    plain_counted(p, ids, T, &roots, &logarithms);      /* (T, V) */
    Array x = plain_embedding(p, ids, embed_tokens, T); /* (T, C) */
    x = plain_add(p, x, plain_linear(p, roots, proj));  /* (T, C) */
    Array h = blocks(p, x, true);                       /* (T, C) */
    Array logits = plain_linear(p, h, embed_tokens);    /* (T, V) */
    Array trust = plain_linear(p, h, gate);             /* (T, 1) */
    return plain_trusted(p, logits, trust, logarithms); /* (T, V) */
}
