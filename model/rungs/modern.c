/* modern.c - today's usual architecture, that of Qwen3 (Yang et al., "Qwen3 Technical Report",
 * 2025), at any size.
 *
 *     x = embed_tokens[id]
 *     for each of L blocks:
 *         h = input_layernorm(x)
 *         q, k, v = rotary(q_norm(q_proj(h))), rotary(k_norm(k_proj(h))), v_proj(h)
 *         x = x + dropout(o_proj(attention(q, k, v)))
 *         h = post_attention_layernorm(x)
 *         x = x + dropout(down_proj(silu(gate_proj(h)) up_proj(h)))
 *     logits = norm(x) embed_tokens^T
 *
 * New compared with gpt: positions as rotations of queries and keys (Su et al., 2021), so that
 * only distances count; norms without mean and bias (RMSNorm; Zhang and Sennrich, 2019), also
 * for each head's queries and keys (Henry et al., 2020); a gate in the MLP (Shazeer, 2020); no
 * biases. Several heads of queries may share one of keys and values (Ainslie et al., 2023);
 * usually each has its own. The last matrix of every branch starts at 0, so a branch adds
 * nothing at first. Muon trains the matrices. Tensors are named as in Hugging Face transformers. */
#include "model/rungs/rung.h"

#define SCALED .fan_in = true, .muon = true

typedef struct {
    Table wte;
    Norm ln_1, q_norm, k_norm, ln_2, ln_f;
    Linear q, k, v, proj, gate, up, down;
} Weights;

static const WeightSpec weights[] = {
    TABLE(wte, "model.embed_tokens", SIZE_V, SIZE_C, .fan_in = true),
    NORM(ln_1, "model.layers.%d.input_layernorm", SIZE_C, .start = 1),
    LINEAR(q, "model.layers.%d.self_attn.q_proj", SIZE_C, SIZE_C, SCALED),
    LINEAR(k, "model.layers.%d.self_attn.k_proj", SIZE_C, SIZE_KV, SCALED),
    LINEAR(v, "model.layers.%d.self_attn.v_proj", SIZE_C, SIZE_KV, SCALED),
    NORM(q_norm, "model.layers.%d.self_attn.q_norm", SIZE_HS, .start = 1),
    NORM(k_norm, "model.layers.%d.self_attn.k_norm", SIZE_HS, .start = 1),
    LINEAR(proj, "model.layers.%d.self_attn.o_proj", SIZE_C, SIZE_C, .zeros = true, .muon = true),
    NORM(ln_2, "model.layers.%d.post_attention_layernorm", SIZE_C, .start = 1),
    LINEAR(gate, "model.layers.%d.mlp.gate_proj", SIZE_C, SIZE_H, SCALED),
    LINEAR(up, "model.layers.%d.mlp.up_proj", SIZE_C, SIZE_H, SCALED),
    LINEAR(down, "model.layers.%d.mlp.down_proj", SIZE_H, SIZE_C, .zeros = true, .muon = true),
    /* starts small: the output layer is the embedding, so at full size each character would
     * predict itself */
    NORM(ln_f, "model.norm", SIZE_C, .start = 0.1f),
};

/* Arrays that the backward pass reads, of each block and of the model; it recomputes cheap ones. */
typedef struct {
    Array x, q_raw, k_raw; /* x [N,C] enters the block; raw: before norm and rotation */
    Attended attended;
    Array mid, gate, up; /* mid [N,C]: x between attention and MLP */
    Array last, ln_f;    /* x after the last block, and its norm */
} Activations;

/* Sites of dropout: each has its own masks. GPT-2 also has it on the embedding, where it
 * did not help here. */
enum { DROP_ATTENTION, DROP_PROJ, DROP_MLP };

/* ---- forward ---- */

static Array block(Tape *p, const Weights *w, Activations *a, Array x) {
    a->x = x;
    Array h = rmsnorm(p, x, w->ln_1);
    a->q_raw = linear(p, h, w->q);
    a->k_raw = linear(p, h, w->k);
    Array v = linear(p, h, w->v);
    Array q = rotary(p, heads(p), rmsnorm(p, a->q_raw, w->q_norm));
    Array k = rotary(p, kv_heads(p), rmsnorm(p, a->k_raw, w->k_norm));
    a->attended = attention(p, heads(p), q, k, v, DROP_ATTENTION);
    a->mid = add(p, x, dropout(p, linear(p, a->attended.out, w->proj), DROP_PROJ));

    h = rmsnorm(p, a->mid, w->ln_2);
    a->gate = linear(p, h, w->gate);
    a->up = linear(p, h, w->up);
    return add(p, a->mid, dropout(p, linear(p, swiglu(p, a->gate, a->up), w->down), DROP_MLP));
}

static Array forward(Tape *p, const Weights *w, Activations *a) {
    Array x = embedding(p, w->wte, NO_TABLE);
    for (int l = 0; l < blocks(p); l++) x = block(begin_block(p, l), &w[l], &a[l], x);
    a->last = x;
    a->ln_f = rmsnorm(p, x, w->ln_f);
    return linear(p, a->ln_f, tied(w->wte));
}

/* ---- backward ----
 * dx is the gradient of the residual stream: it goes through the blocks from the last to the
 * first, and each branch adds its own part. */

static Array block_backward(Tape *p, const Weights *w, const Activations *a, Array dx) {
    Array ddown = dropout_backward(p, dx, DROP_MLP), dgate, dup, hidden;
    swiglu_backward(p, &dgate, &dup, &hidden, linear_dx(p, ddown, w->down), a->gate, a->up);
    linear_gradients(p, ddown, hidden, w->down);

    Array h = rmsnorm(p, a->mid, w->ln_2);
    Array dh = linear_backward(p, dgate, h, w->gate);
    dh = add(p, dh, linear_backward(p, dup, h, w->up));
    dx = rmsnorm_backward(p, dx, dh, a->mid, w->ln_2);

    Array dproj = dropout_backward(p, dx, DROP_PROJ), dq, dk, dv;
    Array dout = linear_backward(p, dproj, a->attended.out, w->proj);
    attention_backward(p, &dq, &dk, &dv, dout, a->attended);
    dq = rmsnorm_backward(p, NO_ARRAY, rotary_backward(p, heads(p), dq), a->q_raw, w->q_norm);
    dk = rmsnorm_backward(p, NO_ARRAY, rotary_backward(p, kv_heads(p), dk), a->k_raw, w->k_norm);

    h = rmsnorm(p, a->x, w->ln_1);
    dh = linear_backward(p, dv, h, w->v);
    dh = add(p, dh, linear_backward(p, dq, h, w->q));
    dh = add(p, dh, linear_backward(p, dk, h, w->k));
    return rmsnorm_backward(p, dx, dh, a->x, w->ln_1);
}

static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits) {
    Array dln_f = linear_backward(p, dlogits, a->ln_f, tied(w->wte));
    Array dx = rmsnorm_backward(p, NO_ARRAY, dln_f, a->last, w->ln_f);
    for (int l = blocks(p) - 1; l >= 0; l--)
        dx = block_backward(begin_block(p, l), &w[l], &a[l], dx);
    embedding_gradients(p, w->wte, NO_TABLE, dx);
}

RUNG(modern, "the block of Qwen3: rotary positions, RMSNorm, gated MLP, no biases; Muon",
     .has_heads = true, .even_heads = true);
