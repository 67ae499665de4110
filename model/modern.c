/* modern.c - what the field does now: the architecture of Qwen3 (Yang et al., "Qwen3 Technical
 * Report", 2025), at any size.
 *
 *     x = embed_tokens[id]
 *     for each of L blocks:
 *         x = x + dropout(o_proj(attention(q, k, v))), from h = input_layernorm(x):
 *             q = rotary(q_norm(q_proj(h))), k = rotary(k_norm(k_proj(h))), v = v_proj(h)
 *         x = x + dropout(down_proj(silu(gate_proj(h)) up_proj(h))), from
 *             h = post_attention_layernorm(x)
 *
 *     logits = norm(x) embed_tokens^T
 *
 * What it adds to gpt: positions as turns of queries and keys (Su et al., 2021), so that only
 * distances count; norms without mean and bias (Zhang and Sennrich, 2019), of queries and keys too
 * (Henry et al., 2020); a gate in the MLP (Shazeer, 2020); no biases. Every branch begins as
 * nothing, its last matrix being 0, and matrices are trained by Muon. The head is the embedding, as
 * in gpt. Norms are RMSNorm; q_norm and k_norm are of each head. Tensors are named as in Hugging
 * Face transformers; weights are (out, in). */
#include "model/run.h"

#include <math.h>
#include <string.h>

typedef struct {
    Param embed, norm;                       /* once */
    Param norm1, q, k, v, q_norm, k_norm, o; /* in each block */
    Param norm2, gate, up, down;
} Weights;

typedef struct {
    float *logits, *x, *turns;    /* x[l] enters block l; turns: of each position */
    float *rstd1, *q_raw, *k_raw; /* in each block; raw: before norm and turn */
    float *q_rstd, *k_rstd, *q, *k, *v, *att, *lse;
    float *mid, *rstd2, *gate, *up;   /* mid: the stream between attention and MLP */
    float *last, *last_rstd;          /* once */
    float *norm, *branch, *hidden;    /* a thread's own */
    float *dx, *sums1, *sums2, *sums; /* backward; sums: of each stretch, for norms */
    float *q_sums, *k_sums, *dnorm, *dnorm_too;
    float *ddown, *hidden_again, *dgate, *dup;   /* kept for the gradients of the weights: */
    float *norm2_again, *dproj, *datt, *dq, *dk; /* inputs of the linear layers, and dy */
    float *dv, *dq_raw, *dk_raw, *norm1_again;
} Buffers;

/* A matrix of deviation 1/sqrt(columns), and one that begins as 0. */
#define SCALED(member, name, rows, columns)                     \
    {                                                           \
        offsetof(Weights, member), name, {rows, columns}, 0, 1, \
            EVERY_LAYER | LINEAR | DECAYS | FAN_IN | MUON       \
    }
#define ZEROS(member, name, rows, columns) \
    { offsetof(Weights, member), name, {rows, columns}, 0, 0, EVERY_LAYER | LINEAR | DECAYS | MUON }

/* clang-format off */
static const TensorSpec tensors[] = {
    {offsetof(Weights, embed), "model.embed_tokens.weight", {SIZE_V, SIZE_C}, 0, 1,
     ONCE | LINEAR | FAN_IN | DECAYS},
    GAIN(norm1, "model.layers.%d.input_layernorm.weight", SIZE_C, EVERY_LAYER),
    SCALED(q, "model.layers.%d.self_attn.q_proj.weight", SIZE_C, SIZE_C),
    SCALED(k, "model.layers.%d.self_attn.k_proj.weight", SIZE_C, SIZE_C),
    SCALED(v, "model.layers.%d.self_attn.v_proj.weight", SIZE_C, SIZE_C),
    GAIN(q_norm, "model.layers.%d.self_attn.q_norm.weight", SIZE_HS, EVERY_LAYER),
    GAIN(k_norm, "model.layers.%d.self_attn.k_norm.weight", SIZE_HS, EVERY_LAYER),
    ZEROS(o, "model.layers.%d.self_attn.o_proj.weight", SIZE_C, SIZE_C),
    GAIN(norm2, "model.layers.%d.post_attention_layernorm.weight", SIZE_C, EVERY_LAYER),
    SCALED(gate, "model.layers.%d.mlp.gate_proj.weight", SIZE_8C_3, SIZE_C),
    SCALED(up, "model.layers.%d.mlp.up_proj.weight", SIZE_8C_3, SIZE_C),
    ZEROS(down, "model.layers.%d.mlp.down_proj.weight", SIZE_C, SIZE_8C_3),
    /* the last norm begins small, or each character would expect itself */
    {offsetof(Weights, norm), "model.norm.weight", {SIZE_C, SIZE_NONE}, 0.1f, 0, ONCE},
};

static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, BETWEEN),
    BUFFER(turns, SIZE_HS, ONCE),          /* a row for each position, of which there are fewer */
    BUFFER(rstd1, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(q_raw, SIZE_C, EVERY_LAYER | KEPT | PRODUCT),
    BUFFER(k_raw, SIZE_C, EVERY_LAYER | KEPT | PRODUCT),
    BUFFER(q_rstd, SIZE_NH, EVERY_LAYER | KEPT),
    BUFFER(k_rstd, SIZE_NH, EVERY_LAYER | KEPT),
    BUFFER(q, SIZE_C, EVERY_LAYER),
    BUFFER(k, SIZE_C, EVERY_LAYER),        /* keys and values: remembered while generating */
    BUFFER(v, SIZE_C, EVERY_LAYER),
    BUFFER(att, SIZE_C, EVERY_LAYER),
    BUFFER(lse, SIZE_NH, EVERY_LAYER),
    BUFFER(mid, SIZE_C, EVERY_LAYER | KEPT),
    BUFFER(rstd2, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(gate, SIZE_8C_3, EVERY_LAYER | KEPT | PRODUCT),
    BUFFER(up, SIZE_8C_3, EVERY_LAYER | KEPT | PRODUCT),
    BUFFER(last, SIZE_C, KEPT),
    BUFFER(last_rstd, SIZE_1, KEPT),
    BUFFER(norm, SIZE_C, SCRATCH),
    BUFFER(branch, SIZE_C, SCRATCH | PRODUCT),
    BUFFER(hidden, SIZE_8C_3, SCRATCH),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(sums1, SIZE_C, TRAINING | PER_STRETCH),
    BUFFER(sums2, SIZE_C, TRAINING | PER_STRETCH),
    BUFFER(sums, SIZE_C, TRAINING | PER_STRETCH),
    BUFFER(q_sums, SIZE_HS, TRAINING | PER_STRETCH),
    BUFFER(k_sums, SIZE_HS, TRAINING | PER_STRETCH),
    BUFFER(dnorm, SIZE_C, TRAINING | SCRATCH),
    BUFFER(dnorm_too, SIZE_C, TRAINING | SCRATCH),
    BUFFER(ddown, SIZE_C, TRAINING),
    BUFFER(hidden_again, SIZE_8C_3, TRAINING),
    BUFFER(dgate, SIZE_8C_3, TRAINING),
    BUFFER(dup, SIZE_8C_3, TRAINING),
    BUFFER(norm2_again, SIZE_C, TRAINING),
    BUFFER(dproj, SIZE_C, TRAINING),
    BUFFER(datt, SIZE_C, TRAINING),
    BUFFER(dq, SIZE_C, TRAINING),
    BUFFER(dk, SIZE_C, TRAINING),
    BUFFER(dv, SIZE_C, TRAINING),
    BUFFER(dq_raw, SIZE_C, TRAINING),
    BUFFER(dk_raw, SIZE_C, TRAINING),
    BUFFER(norm1_again, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

/* Where dropout strikes; each place has masks of its own. GPT-2 has it on the embedding too, where
 * it did no good here (RECORDS.md). */
enum { DROP_ATTENTION, DROP_PROJ, DROP_MLP };

static Attention heads(const Run *run, int l) {
    int C = run->model->config.C, NH = run->model->config.NH, hs = C / NH;
    size_t row = (size_t)C;
    return (Attention){.B = run->B,
                       .T = run->T,
                       .past = run->past,
                       .NH = NH,
                       .dk = hs,
                       .dv = hs,
                       .q_row = row,
                       .k_row = row,
                       .v_row = row,
                       .out_row = row,
                       .causal = true,
                       .scale = 1.0f / sqrtf((float)hs),
                       .dropout = run_dropout(run, DROP_ATTENTION, l)};
}

static int hidden_of(const Run *run) {
    return size_of(&run->model->config, SIZE_8C_3);
}

/* ---- forward ---- */

static void embed(const Run *run, const Kernels *k, Stretch s) {
    int C = run->model->config.C;
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    embedding_forward(k, a.x, run->ids + s.first, w.embed, (Param){0}, s.first, s.count, run->T,
                      run->past, C);
}

/* Norm and turn of a stretch's queries or keys, head by head: the thread's own or, together, each a
 * share of the heads. */
static void place(const Run *run, const Kernels *k, float *y, float *rstd, const float *raw,
                  Param gain, const float *turns, Stretch s) {
    int NH = run->model->config.NH, hs = run->model->config.C / NH;
    size_t heads = (size_t)s.count * (size_t)NH, first = s.first * (size_t)NH;
    Share own = k->together ? team_share(k, heads, 1) : (Share){0, heads};
    size_t at = own.begin * (size_t)hs;
    int rows = (int)(own.end - own.begin);
    rmsnorm_forward(k, y + at, rstd + own.begin, raw + at, gain, rows, hs);
    rotary_forward(k, y + at, y + at, turns, first + own.begin, rows, run->T, run->past, NH, hs);
}

/* The first part of block l, up to queries, keys and values. */
static void ask(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    size_t past = (size_t)run->past * (size_t)C; /* keys and values stand after those remembered */
    Weights w;
    Buffers a, all;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);
    run_buffers(run, k, l, 0, &all);

    rmsnorm_forward(k, a.norm, a.rstd1, a.x, w.norm1, N, C);
    linear_forward(k, a.q_raw, a.norm, w.q, (Param){0}, N, C, C);
    linear_forward(k, a.k_raw, a.norm, w.k, (Param){0}, N, C, C);
    linear_forward(k, a.v + past, a.norm, w.v, (Param){0}, N, C, C);
    place(run, k, a.q, a.q_rstd, a.q_raw, w.q_norm, all.turns, s);
    place(run, k, a.k + past, a.k_rstd, a.k_raw, w.k_norm, all.turns, s);
}

/* The rest of block l, from what attention heard. */
static void think(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C, H = hidden_of(run);
    size_t NC = (size_t)N * (size_t)C;
    Weights w;
    Buffers a, after;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);
    run_buffers(run, k, l + 1, s.first, &after);

    linear_forward(k, a.branch, a.att, w.o, (Param){0}, N, C, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_PROJ, l), s.first, N, C);
    residual_forward(k, a.mid, a.x, a.branch, NC);

    rmsnorm_forward(k, a.norm, a.rstd2, a.mid, w.norm2, N, C);
    linear_forward(k, a.gate, a.norm, w.gate, (Param){0}, N, C, H);
    linear_forward(k, a.up, a.norm, w.up, (Param){0}, N, C, H);
    swiglu_forward(k, a.hidden, a.gate, a.up, (size_t)N * (size_t)H);
    linear_forward(k, a.branch, a.hidden, w.down, (Param){0}, N, H, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_MLP, l), s.first, N, C);
    residual_forward(k, after.x, a.mid, a.branch, NC);
}

static void predict(const Run *run, const Kernels *k, Stretch s) {
    Config c = run->model->config;
    Weights w;
    Buffers a, end;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    run_buffers(run, k, c.L, s.first, &end);
    rmsnorm_forward(k, a.last, a.last_rstd, end.x, w.norm, s.count, c.C);
    linear_forward(k, a.logits, a.last, w.embed, (Param){0}, s.count, c.C, c.V);
}

static void forward(const Run *run, const Kernels *k) {
    Config c = run->model->config;
    Stretch s;
    Buffers all;
    run_buffers(run, k, 0, 0, &all);
    rotary_turns(k, all.turns, run->T, run->past, c.C / c.NH);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        embed(run, k, s);
        ask(run, k, 0, s);
    }
    for (int l = 0; l < c.L; l++) {
        Attention shape = heads(run, l);
        run_buffers(run, k, l, 0, &all);
        team_barrier(k);
        attention_forward(k, all.att, all.lse, all.q, all.k, all.v, &shape);
        team_barrier(k);
        for (int i = 0; run_stretch(run, k, i, &s); i++) {
            think(run, k, l, s);
            if (l + 1 < c.L)
                ask(run, k, l + 1, s);
            else
                predict(run, k, s);
        }
    }
}

/* ---- backward ----
 * dx is the gradient of the residual stream: it is carried through the blocks from the last to the
 * first, and each branch adds its own. Activations that cost little to make again were not kept. */

static void predict_backward(const Run *run, const Kernels *k, Stretch s) {
    Config c = run->model->config;
    Weights w;
    Buffers a, end;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    run_buffers(run, k, c.L, s.first, &end);
    linear_backward(k, a.dnorm, a.logits, w.embed, s.count, c.C, c.V);
    memset(a.dx, 0, (size_t)s.count * (size_t)c.C * sizeof *a.dx);
    rmsnorm_backward(k, a.dx, a.sums, a.dnorm, end.x, a.last_rstd, w.norm, s.count, c.C);
}

static void think_backward(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C, H = hidden_of(run);
    Weights w;
    Buffers a;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);

    dropout_apply(k, a.ddown, a.dx, run_dropout(run, DROP_MLP, l), s.first, N, C);
    linear_backward(k, a.dgate, a.ddown, w.down, N, H, C);
    swiglu_backward(k, a.dgate, a.dup, a.hidden_again, a.gate, a.up, a.dgate,
                    (size_t)N * (size_t)H);
    linear_backward(k, a.dnorm, a.dgate, w.gate, N, C, H);
    linear_backward(k, a.dnorm_too, a.dup, w.up, N, C, H);
    residual_add(k, a.dnorm, a.dnorm_too, (size_t)N * (size_t)C);
    rmsnorm_backward(k, a.dx, a.sums2, a.dnorm, a.mid, a.rstd2, w.norm2, N, C);
    rmsnorm_again(k, a.norm2_again, a.mid, a.rstd2, w.norm2, N, C);

    dropout_apply(k, a.dproj, a.dx, run_dropout(run, DROP_PROJ, l), s.first, N, C);
    linear_backward(k, a.datt, a.dproj, w.o, N, C, C);
}

/* Of a stretch's queries or keys: from dy, which is spent, to draw. */
static void place_backward(const Run *run, const Kernels *k, float *draw, float *sums, float *dy,
                           const float *raw, const float *rstd, Param gain, const float *turns,
                           Stretch s) {
    int NH = run->model->config.NH, hs = run->model->config.C / NH, rows = s.count * NH;
    rotary_backward(k, dy, dy, turns, s.first * (size_t)NH, rows, run->T, NH, hs);
    memset(draw, 0, (size_t)rows * (size_t)hs * sizeof *draw);
    rmsnorm_backward(k, draw, sums, dy, raw, rstd, gain, rows, hs);
}

static void ask_backward(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    size_t NC = (size_t)N * (size_t)C;
    Weights w;
    Buffers a, all;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);
    run_buffers(run, k, l, 0, &all);

    place_backward(run, k, a.dq_raw, a.q_sums, a.dq, a.q_raw, a.q_rstd, w.q_norm, all.turns, s);
    place_backward(run, k, a.dk_raw, a.k_sums, a.dk, a.k_raw, a.k_rstd, w.k_norm, all.turns, s);
    linear_backward(k, a.dnorm, a.dv, w.v, N, C, C);
    linear_backward(k, a.dnorm_too, a.dq_raw, w.q, N, C, C);
    residual_add(k, a.dnorm, a.dnorm_too, NC);
    linear_backward(k, a.dnorm_too, a.dk_raw, w.k, N, C, C);
    residual_add(k, a.dnorm, a.dnorm_too, NC);
    rmsnorm_backward(k, a.dx, a.sums1, a.dnorm, a.x, a.rstd1, w.norm1, N, C);
    rmsnorm_again(k, a.norm1_again, a.x, a.rstd1, w.norm1, N, C);
}

/* What block l's weights learn, from all tokens. */
static void block_gradients(const Run *run, const Kernels *k, int l) {
    Config c = run->model->config;
    int N = run->B * run->T, C = c.C, H = hidden_of(run), stretches = run_stretches(run);
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, k, l, 0, &all);

    linear_gradients(k, w.down, (Param){0}, all.ddown, all.hidden_again, N, H, C);
    linear_gradients(k, w.gate, (Param){0}, all.dgate, all.norm2_again, N, C, H);
    linear_gradients(k, w.up, (Param){0}, all.dup, all.norm2_again, N, C, H);
    linear_gradients(k, w.o, (Param){0}, all.dproj, all.att, N, C, C);
    linear_gradients(k, w.q, (Param){0}, all.dq_raw, all.norm1_again, N, C, C);
    linear_gradients(k, w.k, (Param){0}, all.dk_raw, all.norm1_again, N, C, C);
    linear_gradients(k, w.v, (Param){0}, all.dv, all.norm1_again, N, C, C);
    rmsnorm_gradients(k, w.norm2, all.sums2, stretches, C);
    rmsnorm_gradients(k, w.q_norm, all.q_sums, stretches, C / c.NH);
    rmsnorm_gradients(k, w.k_norm, all.k_sums, stretches, C / c.NH);
    rmsnorm_gradients(k, w.norm1, all.sums1, stretches, C);
}

static void backward(const Run *run, const Kernels *k) {
    Config c = run->model->config;
    int B = run->B, T = run->T;
    Weights w;
    Buffers all;
    Stretch s;
    for (int i = 0; run_stretch(run, k, i, &s); i++) predict_backward(run, k, s);
    for (int l = c.L - 1; l >= 0; l--) {
        Attention shape = heads(run, l);
        run_buffers(run, k, l, 0, &all);
        for (int i = 0; run_stretch(run, k, i, &s); i++) think_backward(run, k, l, s);
        team_barrier(k);
        attention_backward(k, all.dq, all.dk, all.dv, all.datt, all.att, all.lse, all.q, all.k,
                           all.v, &shape);
        team_barrier(k);
        for (int i = 0; run_stretch(run, k, i, &s); i++) ask_backward(run, k, l, s);
        team_barrier(k);
        block_gradients(run, k, l);
        team_barrier(k);
        run_learnt(run, k, l);
    }
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);
    linear_gradients(k, w.embed, (Param){0}, all.logits, all.last, B * T, c.C, c.V);
    rmsnorm_gradients(k, w.norm, all.sums, run_stretches(run), c.C);
    team_barrier(k); /* the embedding's gradient has two parts */
    embedding_backward(k, w.embed, (Param){0}, all.dx, run->ids, B, T, c.C);
}

static void sight(const Run *run, int l, Sight *sight) {
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, NULL, l, 0, &all);
    *sight = (Sight){.shape = heads(run, l),
                     .q = all.q,
                     .k = all.k,
                     .v = all.v,
                     .att = all.att,
                     .projection = w.o};
}

const Rung modern_rung = {
    .name = "modern",
    .idea = "the block of Qwen3: rotary positions, RMSNorm, gated MLP, no biases; Muon",
    .has_width = true,
    .has_heads = true,
    .has_layers = true,
    .rotary = true,
    .together = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
    .sight = sight,
};
