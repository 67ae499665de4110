/* modern.c - what the field does now: the architecture of Qwen3 (Yang et al., "Qwen3 Technical
 * Report", 2025), without dropout.
 *
 *     x = embed_tokens[id]
 *     for each of L blocks:
 *         h = input_layernorm(x)
 *         q = rotary(q_norm(q_proj(h))), k = rotary(k_norm(k_proj(h))), v = v_proj(h)
 *         x = x + o_proj(attention(q, shared(k), shared(v)))
 *         h = post_attention_layernorm(x)
 *         x = x + down_proj(silu(gate_proj(h)) up_proj(h))
 *     logits = norm(x) embed_tokens^T
 *     loss   = the mean of -ln softmax(logits)[target]
 *
 * All norms are RMSNorm; q_norm and k_norm are of each head. The MLP has H channels inside. There
 * are NH heads of queries, of C channels together, and NKV of keys and values, of KV channels. */
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

/* A block: its weights, and the arrays of its forward pass that the backward pass reads. */
typedef struct {
    Weights norm1, q_proj, k_proj, v_proj, q_norm, k_norm, o_proj;
    Weights norm2, gate_proj, up_proj, down_proj;
    double *x, *h1, *q_raw, *k_raw, *q, *k, *v, *att, *out; /* raw: before norm and rotation */
    double *mid, *h2, *gate, *up, *swiglu;                  /* mid: x between attention and MLP */
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
}

static double *block_forward(Plain *p, Block *a, double *x, int T) {
    int C = p->model->config.C, NH = p->model->config.NH, H = a->gate_proj.rows;
    int KV = a->k_proj.rows, hs = a->k_norm.rows, NKV = KV / hs;
    a->x = x;                                                          /* (T, C) */
    a->h1 = plain_rmsnorm(p, x, a->norm1, T);                          /* (T, C) */
    a->q_raw = plain_linear(p, a->h1, a->q_proj, T);                   /* (T, C) */
    a->k_raw = plain_linear(p, a->h1, a->k_proj, T);                   /* (T, KV) */
    double *v = plain_linear(p, a->h1, a->v_proj, T);                  /* (T, KV) */
    double *q_normed = plain_rmsnorm(p, a->q_raw, a->q_norm, T * NH);  /* (T, NH, hs) */
    double *k_normed = plain_rmsnorm(p, a->k_raw, a->k_norm, T * NKV); /* (T, NKV, hs) */
    a->q = plain_rotary(p, q_normed, T, C, NH);                        /* (T, C) */
    double *k = plain_rotary(p, k_normed, T, KV, NKV);                 /* (T, KV) */
    a->k = plain_shared(p, k, T, hs, NH, NKV);                         /* (T, C) */
    a->v = plain_shared(p, v, T, hs, NH, NKV);                         /* (T, C) */
    a->att = plain_attention(p, a->q, a->k, T, C, NH);                 /* (NH, T, T) */
    a->out = plain_weighted_mean(p, a->att, a->v, T, C, NH);           /* (T, C) */
    double *attn = plain_linear(p, a->out, a->o_proj, T);              /* (T, C) */
    a->mid = plain_add(p, x, attn, T * C);                             /* (T, C) */

    a->h2 = plain_rmsnorm(p, a->mid, a->norm2, T);             /* (T, C) */
    a->gate = plain_linear(p, a->h2, a->gate_proj, T);         /* (T, H) */
    a->up = plain_linear(p, a->h2, a->up_proj, T);             /* (T, H) */
    a->swiglu = plain_swiglu(p, a->gate, a->up, T * H);        /* (T, H) */
    double *mlp = plain_linear(p, a->swiglu, a->down_proj, T); /* (T, C) */
    return plain_add(p, a->mid, mlp, T * C);                   /* (T, C) */
}

/* The same lines, from the last to the first. Returns dx. */
static double *block_backward(Plain *p, const Block *a, double *dy, int T) {
    int C = p->model->config.C, NH = p->model->config.NH, H = a->gate_proj.rows;
    int KV = a->k_proj.rows, hs = a->k_norm.rows, NKV = KV / hs;
    double *dmlp = plain_zeros(p, T, C), *dswiglu = plain_zeros(p, T, H);
    double *dup = plain_zeros(p, T, H), *dgate = plain_zeros(p, T, H);
    double *dh2 = plain_zeros(p, T, C), *dmid = plain_zeros(p, T, C);
    double *dattn = plain_zeros(p, T, C), *dout = plain_zeros(p, T, C);
    double *datt = plain_zeros(p, NH * T, T), *dv = plain_zeros(p, T, C);
    double *dk = plain_zeros(p, T, C), *dq = plain_zeros(p, T, C);
    double *dk_own = plain_zeros(p, T, KV), *dv_own = plain_zeros(p, T, KV);
    double *dk_normed = plain_zeros(p, T, KV), *dq_normed = plain_zeros(p, T, C);
    double *dk_raw = plain_zeros(p, T, KV), *dq_raw = plain_zeros(p, T, C);
    double *dh1 = plain_zeros(p, T, C), *dx = plain_zeros(p, T, C);

    plain_add_backward(dmid, dmlp, dy, T * C);
    plain_linear_backward(dswiglu, dmlp, a->swiglu, a->down_proj, T);
    plain_swiglu_backward(dgate, dup, dswiglu, a->gate, a->up, T * H);
    plain_linear_backward(dh2, dup, a->h2, a->up_proj, T);
    plain_linear_backward(dh2, dgate, a->h2, a->gate_proj, T);
    plain_rmsnorm_backward(dmid, dh2, a->mid, a->norm2, T);

    plain_add_backward(dx, dattn, dmid, T * C);
    plain_linear_backward(dout, dattn, a->out, a->o_proj, T);
    plain_weighted_mean_backward(datt, dv, dout, a->att, a->v, T, C, NH);
    plain_attention_backward(dq, dk, datt, a->att, a->q, a->k, T, C, NH);
    plain_shared_backward(dv_own, dv, T, hs, NH, NKV);
    plain_shared_backward(dk_own, dk, T, hs, NH, NKV);
    plain_rotary_backward(dk_normed, dk_own, T, KV, NKV);
    plain_rotary_backward(dq_normed, dq, T, C, NH);
    plain_rmsnorm_backward(dk_raw, dk_normed, a->k_raw, a->k_norm, T * NKV);
    plain_rmsnorm_backward(dq_raw, dq_normed, a->q_raw, a->q_norm, T * NH);
    plain_linear_backward(dh1, dv_own, a->h1, a->v_proj, T);
    plain_linear_backward(dh1, dk_raw, a->h1, a->k_proj, T);
    plain_linear_backward(dh1, dq_raw, a->h1, a->q_proj, T);
    plain_rmsnorm_backward(dx, dh1, a->x, a->norm1, T);
    return dx;
}

double *plain_modern(Plain *p, const int32_t *ids, const int32_t *targets, int T) {
    int C = p->model->config.C, V = p->model->config.V, L = p->model->config.L;
    Weights embed_tokens = plain_weights(p, "model.embed_tokens"); /* (V, C) */
    Weights norm = plain_weights(p, "model.norm");                 /* (C) */
    Block blocks[MAX_LAYERS];

    /* forward */
    double *x = plain_embedding(p, ids, embed_tokens, T); /* (T, C) */
    for (int l = 0; l < L; l++) {
        block_weights(p, &blocks[l], l);
        x = block_forward(p, &blocks[l], x, T); /* (T, C) */
    }
    double *h = plain_rmsnorm(p, x, norm, T);             /* (T, C) */
    double *logits = plain_linear(p, h, embed_tokens, T); /* (T, V) */
    if (!targets) return logits;

    /* backward */
    double *dlogits = plain_zeros(p, T, V), *dh = plain_zeros(p, T, C), *dx = plain_zeros(p, T, C);
    plain_cross_entropy_backward(dlogits, logits, targets, T, V);
    plain_linear_backward(dh, dlogits, h, embed_tokens, T);
    plain_rmsnorm_backward(dx, dh, x, norm, T);
    for (int l = L; l-- > 0;) dx = block_backward(p, &blocks[l], dx, T);
    plain_embedding_backward(dx, ids, embed_tokens, T);
    return logits;
}
