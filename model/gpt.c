/* gpt.c - the whole of GPT-2, at any size (Radford et al., "Language Models are Unsupervised
 * Multitask Learners", 2019).
 *
 *     x = dropout(wte[id] + wpe[position])
 *     for each of L blocks:
 *         x = x + dropout(c_proj(attention(c_attn(ln_1(x)))))
 *         x = x + dropout(c_proj(gelu(c_fc(ln_2(x)))))
 *     logits = ln_f(x) wte^T
 *
 * What it adds to the heads: the block (normalise first, then attend or think, then add to the
 * residual stream), an MLP, depth, dropout, and a head that shares the token embedding. Tensors
 * are named as in nanoGPT; weights are (out, in). */
#include "model/run.h"

#include <math.h>
#include <string.h>

typedef struct {
    Param wte, wpe, lnf_w, lnf_b;                     /* once */
    Param ln1_w, ln1_b, qkv_w, qkv_b, proj_w, proj_b; /* in each block */
    Param ln2_w, ln2_b, fc_w, fc_b, out_w, out_b;
} Weights;

typedef struct {
    float *logits, *x;                            /* x[l] enters block l */
    float *ln1_mean, *ln1_rstd, *qkv, *att, *lse; /* in each block */
    float *mid, *ln2_mean, *ln2_rstd, *fc;        /* mid: the stream between attention and MLP */
    float *lnf, *lnf_mean, *lnf_rstd;             /* once */
    float *norm, *branch, *gelu;                  /* a thread's own */
    float *dx, *dln1, *dln2, *dlnf, *dbranch;     /* backward; dln: sums of each stretch */
    float *dout, *gelu_again, *dfc, *ln2_again;   /* kept for the gradients of the weights: */
    float *dproj, *datt, *dqkv, *ln1_again;       /* inputs of the linear layers, and dy */
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "transformer.wte.weight", SIZE_V, SIZE_C, LINEAR),
    MATRIX(wpe, "transformer.wpe.weight", SIZE_T, SIZE_C, ONCE),
    GAIN(ln1_w, "transformer.h.%d.ln_1.weight", SIZE_C, EVERY_LAYER),
    BIAS(ln1_b, "transformer.h.%d.ln_1.bias", SIZE_C, EVERY_LAYER),
    MATRIX(qkv_w, "transformer.h.%d.attn.c_attn.weight", SIZE_3C, SIZE_C, EVERY_LAYER | LINEAR),
    BIAS(qkv_b, "transformer.h.%d.attn.c_attn.bias", SIZE_3C, EVERY_LAYER),
    MATRIX(proj_w, "transformer.h.%d.attn.c_proj.weight", SIZE_C, SIZE_C,
           EVERY_LAYER | RESIDUAL | LINEAR),
    BIAS(proj_b, "transformer.h.%d.attn.c_proj.bias", SIZE_C, EVERY_LAYER),
    GAIN(ln2_w, "transformer.h.%d.ln_2.weight", SIZE_C, EVERY_LAYER),
    BIAS(ln2_b, "transformer.h.%d.ln_2.bias", SIZE_C, EVERY_LAYER),
    MATRIX(fc_w, "transformer.h.%d.mlp.c_fc.weight", SIZE_4C, SIZE_C, EVERY_LAYER | LINEAR),
    BIAS(fc_b, "transformer.h.%d.mlp.c_fc.bias", SIZE_4C, EVERY_LAYER),
    MATRIX(out_w, "transformer.h.%d.mlp.c_proj.weight", SIZE_C, SIZE_4C,
           EVERY_LAYER | RESIDUAL | LINEAR),
    BIAS(out_b, "transformer.h.%d.mlp.c_proj.bias", SIZE_C, EVERY_LAYER),
    GAIN(lnf_w, "transformer.ln_f.weight", SIZE_C, ONCE),
    BIAS(lnf_b, "transformer.ln_f.bias", SIZE_C, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, BETWEEN),
    BUFFER(ln1_mean, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(ln1_rstd, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(qkv, SIZE_3C, EVERY_LAYER),     /* keys and values: remembered while generating */
    BUFFER(att, SIZE_C, EVERY_LAYER),
    BUFFER(lse, SIZE_NH, EVERY_LAYER),
    BUFFER(mid, SIZE_C, EVERY_LAYER | KEPT),
    BUFFER(ln2_mean, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(ln2_rstd, SIZE_1, EVERY_LAYER | KEPT),
    BUFFER(fc, SIZE_4C, EVERY_LAYER | KEPT | PRODUCT),
    BUFFER(lnf, SIZE_C, KEPT),
    BUFFER(lnf_mean, SIZE_1, KEPT),
    BUFFER(lnf_rstd, SIZE_1, KEPT),
    BUFFER(norm, SIZE_C, SCRATCH),
    BUFFER(branch, SIZE_C, SCRATCH | PRODUCT),
    BUFFER(gelu, SIZE_4C, SCRATCH),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dln1, SIZE_2C, TRAINING | PER_STRETCH),
    BUFFER(dln2, SIZE_2C, TRAINING | PER_STRETCH),
    BUFFER(dlnf, SIZE_2C, TRAINING | PER_STRETCH),
    BUFFER(dbranch, SIZE_C, TRAINING | SCRATCH),
    BUFFER(dout, SIZE_C, TRAINING),
    BUFFER(gelu_again, SIZE_4C, TRAINING),
    BUFFER(dfc, SIZE_4C, TRAINING),
    BUFFER(ln2_again, SIZE_C, TRAINING),
    BUFFER(dproj, SIZE_C, TRAINING),
    BUFFER(datt, SIZE_C, TRAINING),
    BUFFER(dqkv, SIZE_3C, TRAINING),
    BUFFER(ln1_again, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

/* Where dropout strikes; each place has masks of its own. */
enum { DROP_EMBEDDING, DROP_ATTENTION, DROP_PROJ, DROP_MLP };

static Attention heads(const Run *run, int l) {
    int C = run->model->config.C, NH = run->model->config.NH, hs = C / NH;
    size_t row = (size_t)C;
    return (Attention){.B = run->B,
                       .T = run->T,
                       .past = run->past,
                       .NH = NH,
                       .dk = hs,
                       .dv = hs,
                       .q_row = 3 * row,
                       .k_row = 3 * row,
                       .v_row = 3 * row,
                       .out_row = row,
                       .causal = true,
                       .scale = 1.0f / sqrtf((float)hs),
                       .dropout = run_dropout(run, DROP_ATTENTION, l)};
}

/* ---- forward ---- */

static void embed(const Run *run, const Kernels *k, Stretch s) {
    int C = run->model->config.C;
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    embedding_forward(k, a.x, run->ids + s.first, w.wte, w.wpe, s.first, s.count, run->T, run->past,
                      C);
    dropout_apply(k, a.x, a.x, run_dropout(run, DROP_EMBEDDING, 0), s.first, s.count, C);
}

/* The first part of block l, up to queries, keys and values. */
static void ask(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    Weights w;
    Buffers a;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);
    float *qkv = a.qkv + 3 * (size_t)run->past * (size_t)C; /* after those remembered */

    layernorm_forward(k, a.norm, a.ln1_mean, a.ln1_rstd, a.x, w.ln1_w, w.ln1_b, N, C);
    linear_forward(k, qkv, a.norm, w.qkv_w, w.qkv_b, N, C, 3 * C);
}

/* The rest of block l, from what attention heard. */
static void think(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    size_t NC = (size_t)N * (size_t)C;
    Weights w;
    Buffers a, after;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);
    run_buffers(run, k, l + 1, s.first, &after);

    linear_forward(k, a.branch, a.att, w.proj_w, w.proj_b, N, C, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_PROJ, l), s.first, N, C);
    residual_forward(k, a.mid, a.x, a.branch, NC);

    layernorm_forward(k, a.norm, a.ln2_mean, a.ln2_rstd, a.mid, w.ln2_w, w.ln2_b, N, C);
    linear_forward(k, a.fc, a.norm, w.fc_w, w.fc_b, N, C, 4 * C);
    gelu_forward(k, a.gelu, a.fc, 4 * NC);
    linear_forward(k, a.branch, a.gelu, w.out_w, w.out_b, N, 4 * C, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_MLP, l), s.first, N, C);
    residual_forward(k, after.x, a.mid, a.branch, NC);
}

static void predict(const Run *run, const Kernels *k, Stretch s) {
    Config c = run->model->config;
    Weights w;
    Buffers a, last;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    run_buffers(run, k, c.L, s.first, &last);
    layernorm_forward(k, a.lnf, a.lnf_mean, a.lnf_rstd, last.x, w.lnf_w, w.lnf_b, s.count, c.C);
    linear_forward(k, a.logits, a.lnf, w.wte, (Param){0}, s.count, c.C, c.V);
}

static void forward(const Run *run, const Kernels *k) {
    int C = run->model->config.C, L = run->model->config.L;
    size_t past = 3 * (size_t)run->past * (size_t)C;
    Stretch s;
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        embed(run, k, s);
        ask(run, k, 0, s);
    }
    for (int l = 0; l < L; l++) {
        Attention shape = heads(run, l);
        Buffers all;
        run_buffers(run, k, l, 0, &all);
        if (!k->together) team_barrier(k); /* products have waited already */
        attention_forward(k, all.att, all.lse, all.qkv + past, all.qkv + C, all.qkv + 2 * C,
                          &shape);
        team_barrier(k);
        for (int i = 0; run_stretch(run, k, i, &s); i++) {
            think(run, k, l, s);
            if (l + 1 < L)
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
    Buffers a, last;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, s.first, &a);
    run_buffers(run, k, c.L, s.first, &last);
    linear_backward(k, a.dbranch, a.logits, w.wte, s.count, c.C, c.V);
    memset(a.dx, 0, (size_t)s.count * (size_t)c.C * sizeof *a.dx);
    layernorm_backward(k, a.dx, a.dlnf, a.dbranch, last.x, a.lnf_mean, a.lnf_rstd, w.lnf_w, s.count,
                       c.C);
}

static void think_backward(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    size_t NC = (size_t)N * (size_t)C;
    Weights w;
    Buffers a;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);

    dropout_apply(k, a.dout, a.dx, run_dropout(run, DROP_MLP, l), s.first, N, C);
    linear_backward(k, a.dfc, a.dout, w.out_w, N, 4 * C, C);
    gelu_backward(k, a.dfc, a.gelu_again, a.fc, a.dfc, 4 * NC);
    linear_backward(k, a.dbranch, a.dfc, w.fc_w, N, C, 4 * C);
    layernorm_backward(k, a.dx, a.dln2, a.dbranch, a.mid, a.ln2_mean, a.ln2_rstd, w.ln2_w, N, C);
    layernorm_again(k, a.ln2_again, a.mid, a.ln2_mean, a.ln2_rstd, w.ln2_w, w.ln2_b, N, C);

    dropout_apply(k, a.dproj, a.dx, run_dropout(run, DROP_PROJ, l), s.first, N, C);
    linear_backward(k, a.datt, a.dproj, w.proj_w, N, C, C);
}

static void ask_backward(const Run *run, const Kernels *k, int l, Stretch s) {
    int N = s.count, C = run->model->config.C;
    Weights w;
    Buffers a;
    run_weights(run, l, &w);
    run_buffers(run, k, l, s.first, &a);

    linear_backward(k, a.dbranch, a.dqkv, w.qkv_w, N, C, 3 * C);
    layernorm_backward(k, a.dx, a.dln1, a.dbranch, a.x, a.ln1_mean, a.ln1_rstd, w.ln1_w, N, C);
    layernorm_again(k, a.ln1_again, a.x, a.ln1_mean, a.ln1_rstd, w.ln1_w, w.ln1_b, N, C);
}

/* What block l's weights learn, from all tokens. */
static void block_gradients(const Run *run, const Kernels *k, int l) {
    int N = run->B * run->T, C = run->model->config.C, stretches = run_stretches(run);
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, k, l, 0, &all);

    linear_gradients(k, w.out_w, w.out_b, all.dout, all.gelu_again, N, 4 * C, C);
    linear_gradients(k, w.fc_w, w.fc_b, all.dfc, all.ln2_again, N, C, 4 * C);
    linear_gradients(k, w.proj_w, w.proj_b, all.dproj, all.att, N, C, C);
    linear_gradients(k, w.qkv_w, w.qkv_b, all.dqkv, all.ln1_again, N, C, 3 * C);
    layernorm_gradients(k, w.ln2_w, w.ln2_b, all.dln2, stretches, C);
    layernorm_gradients(k, w.ln1_w, w.ln1_b, all.dln1, stretches, C);
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
        attention_backward(k, all.dqkv, all.dqkv + c.C, all.dqkv + 2 * c.C, all.datt, all.att,
                           all.lse, all.qkv, all.qkv + c.C, all.qkv + 2 * c.C, &shape);
        team_barrier(k);
        for (int i = 0; run_stretch(run, k, i, &s); i++) ask_backward(run, k, l, s);
        team_barrier(k);
        block_gradients(run, k, l);
        team_barrier(k);
        run_learnt(run, k, l);
    }
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);
    linear_gradients(k, w.wte, (Param){0}, all.logits, all.lnf, B * T, c.C, c.V);
    layernorm_gradients(k, w.lnf_w, w.lnf_b, all.dlnf, run_stretches(run), c.C);
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        Buffers a;
        run_buffers(run, k, 0, s.first, &a);
        dropout_apply(k, a.dx, a.dx, run_dropout(run, DROP_EMBEDDING, 0), s.first, s.count, c.C);
    }
    team_barrier(k);
    embedding_backward(k, w.wte, w.wpe, all.dx, run->ids, B, T, c.C);
}

static void sight(const Run *run, int l, Sight *sight) {
    int C = run->model->config.C;
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, NULL, l, 0, &all);
    *sight = (Sight){.shape = heads(run, l),
                     .q = all.qkv,
                     .k = all.qkv + C,
                     .v = all.qkv + 2 * C,
                     .att = all.att,
                     .projection = w.proj_w,
                     .bias = w.proj_b};
}

const Rung gpt_rung = {
    .name = "gpt",
    .idea = "the block of GPT-2, stacked: residuals, norms, MLP, dropout, tied head",
    .has_width = true,
    .has_heads = true,
    .has_layers = true,
    .together = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
    .sight = sight,
};
