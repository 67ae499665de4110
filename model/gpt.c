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

typedef struct {
    float *wte, *wpe, *lnf_w, *lnf_b;                       /* once */
    float *ln1_w, *ln1_b, *qkv_w, *qkv_b, *proj_w, *proj_b; /* in each block */
    float *ln2_w, *ln2_b, *fc_w, *fc_b, *out_w, *out_b;
} Weights;

typedef struct {
    float *logits, *x0, *branch, *lnf, *lnf_mean, *lnf_rstd; /* once; x0 enters the first block */
    float *ln1, *ln1_mean, *ln1_rstd, *qkv, *att, *lse;      /* in each block */
    float *mid;                                              /* after attention */
    float *ln2, *ln2_mean, *ln2_rstd, *fc, *gelu;
    float *x; /* leaves the block */
    float *dx, *dbranch, *dqkv, *dfc;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "transformer.wte.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "transformer.wpe.weight", SIZE_T, SIZE_C, ONCE),
    GAIN(ln1_w, "transformer.h.%d.ln_1.weight", SIZE_C, EVERY_LAYER),
    BIAS(ln1_b, "transformer.h.%d.ln_1.bias", SIZE_C, EVERY_LAYER),
    MATRIX(qkv_w, "transformer.h.%d.attn.c_attn.weight", SIZE_3C, SIZE_C, EVERY_LAYER),
    BIAS(qkv_b, "transformer.h.%d.attn.c_attn.bias", SIZE_3C, EVERY_LAYER),
    MATRIX(proj_w, "transformer.h.%d.attn.c_proj.weight", SIZE_C, SIZE_C, EVERY_LAYER | RESIDUAL),
    BIAS(proj_b, "transformer.h.%d.attn.c_proj.bias", SIZE_C, EVERY_LAYER),
    GAIN(ln2_w, "transformer.h.%d.ln_2.weight", SIZE_C, EVERY_LAYER),
    BIAS(ln2_b, "transformer.h.%d.ln_2.bias", SIZE_C, EVERY_LAYER),
    MATRIX(fc_w, "transformer.h.%d.mlp.c_fc.weight", SIZE_4C, SIZE_C, EVERY_LAYER),
    BIAS(fc_b, "transformer.h.%d.mlp.c_fc.bias", SIZE_4C, EVERY_LAYER),
    MATRIX(out_w, "transformer.h.%d.mlp.c_proj.weight", SIZE_C, SIZE_4C, EVERY_LAYER | RESIDUAL),
    BIAS(out_b, "transformer.h.%d.mlp.c_proj.bias", SIZE_C, EVERY_LAYER),
    GAIN(lnf_w, "transformer.ln_f.weight", SIZE_C, ONCE),
    BIAS(lnf_b, "transformer.ln_f.bias", SIZE_C, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x0, SIZE_C, ONCE),
    BUFFER(ln1, SIZE_C, EVERY_LAYER),
    BUFFER(ln1_mean, SIZE_1, EVERY_LAYER),
    BUFFER(ln1_rstd, SIZE_1, EVERY_LAYER),
    BUFFER(qkv, SIZE_3C, EVERY_LAYER),     /* keys and values: remembered while generating */
    BUFFER(att, SIZE_C, EVERY_LAYER),
    BUFFER(lse, SIZE_NH, EVERY_LAYER),
    BUFFER(mid, SIZE_C, EVERY_LAYER),
    BUFFER(ln2, SIZE_C, EVERY_LAYER),
    BUFFER(ln2_mean, SIZE_1, EVERY_LAYER),
    BUFFER(ln2_rstd, SIZE_1, EVERY_LAYER),
    BUFFER(fc, SIZE_4C, EVERY_LAYER),
    BUFFER(gelu, SIZE_4C, EVERY_LAYER),
    BUFFER(x, SIZE_C, EVERY_LAYER),
    BUFFER(branch, SIZE_C, ONCE),
    BUFFER(lnf, SIZE_C, ONCE),
    BUFFER(lnf_mean, SIZE_1, ONCE),
    BUFFER(lnf_rstd, SIZE_1, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dbranch, SIZE_C, TRAINING),
    BUFFER(dqkv, SIZE_3C, TRAINING),
    BUFFER(dfc, SIZE_4C, TRAINING),
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

/* One block; returns the stream that leaves it. */
static const float *block_forward(const Run *run, const Kernels *k, int l, const float *x) {
    int N = run->B * run->T, C = run->model->config.C;
    size_t NC = (size_t)N * (size_t)C;
    Attention shape = heads(run, l);
    Weights w;
    Buffers a;
    run_weights(run, l, &w);
    run_buffers(run, l, &a);
    float *qkv = a.qkv + 3 * (size_t)run->past * (size_t)C; /* the new tokens' */

    layernorm_forward(k, a.ln1, a.ln1_mean, a.ln1_rstd, x, w.ln1_w, w.ln1_b, N, C);
    linear_forward(k, qkv, a.ln1, w.qkv_w, w.qkv_b, N, C, 3 * C);
    attention_forward(k, a.att, a.lse, qkv, a.qkv + C, a.qkv + 2 * C, &shape);
    linear_forward(k, a.branch, a.att, w.proj_w, w.proj_b, N, C, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_PROJ, l), N, C);
    residual_forward(k, a.mid, x, a.branch, NC);

    layernorm_forward(k, a.ln2, a.ln2_mean, a.ln2_rstd, a.mid, w.ln2_w, w.ln2_b, N, C);
    linear_forward(k, a.fc, a.ln2, w.fc_w, w.fc_b, N, C, 4 * C);
    gelu_forward(k, a.gelu, a.fc, 4 * NC);
    linear_forward(k, a.branch, a.gelu, w.out_w, w.out_b, N, 4 * C, C);
    dropout_apply(k, a.branch, a.branch, run_dropout(run, DROP_MLP, l), N, C);
    residual_forward(k, a.x, a.mid, a.branch, NC);
    return a.x;
}

/* dx comes in as the gradient of the stream that left the block and goes out as that of the stream
 * x that entered: the residual carries it through, each branch adds its own. */
static void block_backward(const Run *run, const Kernels *k, int l, const float *x) {
    int N = run->B * run->T, C = run->model->config.C;
    size_t NC = (size_t)N * (size_t)C;
    Attention shape = heads(run, l);
    Weights w, dw;
    Buffers a;
    run_weights(run, l, &w);
    run_gradients(run, l, &dw);
    run_buffers(run, l, &a);

    dropout_apply(k, a.dbranch, a.dx, run_dropout(run, DROP_MLP, l), N, C);
    linear_backward(k, a.dfc, dw.out_w, dw.out_b, a.dbranch, a.gelu, w.out_w, N, 4 * C, C);
    gelu_backward(k, a.dfc, a.fc, a.dfc, 4 * NC);
    linear_backward(k, a.dbranch, dw.fc_w, dw.fc_b, a.dfc, a.ln2, w.fc_w, N, C, 4 * C);
    layernorm_backward(k, a.dbranch, dw.ln2_w, dw.ln2_b, a.dbranch, a.mid, a.ln2_mean, a.ln2_rstd,
                       w.ln2_w, N, C);
    residual_add(k, a.dx, a.dbranch, NC);

    dropout_apply(k, a.dbranch, a.dx, run_dropout(run, DROP_PROJ, l), N, C);
    linear_backward(k, a.dfc, dw.proj_w, dw.proj_b, a.dbranch, a.att, w.proj_w, N, C, C);
    attention_backward(k, a.dqkv, a.dqkv + C, a.dqkv + 2 * C, a.dfc, a.att, a.lse, a.qkv, a.qkv + C,
                       a.qkv + 2 * C, &shape);
    linear_backward(k, a.dbranch, dw.qkv_w, dw.qkv_b, a.dqkv, a.ln1, w.qkv_w, N, C, 3 * C);
    layernorm_backward(k, a.dbranch, dw.ln1_w, dw.ln1_b, a.dbranch, x, a.ln1_mean, a.ln1_rstd,
                       w.ln1_w, N, C);
    residual_add(k, a.dx, a.dbranch, NC);
}

static void forward(const Run *run, const Kernels *k) {
    Config c = run->model->config;
    int B = run->B, T = run->T, N = B * T;
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, 0, &a);

    embedding_forward(k, a.x0, run->ids, w.wte, w.wpe, B, T, run->past, c.C);
    dropout_apply(k, a.x0, a.x0, run_dropout(run, DROP_EMBEDDING, 0), N, c.C);
    const float *x = a.x0;
    for (int l = 0; l < c.L; l++) x = block_forward(run, k, l, x);
    layernorm_forward(k, a.lnf, a.lnf_mean, a.lnf_rstd, x, w.lnf_w, w.lnf_b, N, c.C);
    linear_forward(k, a.logits, a.lnf, w.wte, NULL, N, c.C, c.V);
}

/* The stream that leaves block l; -1: the one that enters the first. */
static const float *stream(const Run *run, int l) {
    Buffers a;
    run_buffers(run, l < 0 ? 0 : l, &a);
    return l < 0 ? a.x0 : a.x;
}

static void backward(const Run *run, const Kernels *k) {
    Config c = run->model->config;
    int B = run->B, T = run->T, N = B * T;
    Weights w, dw;
    Buffers a;
    run_weights(run, 0, &w);
    run_gradients(run, 0, &dw);
    run_buffers(run, 0, &a);

    linear_backward(k, a.dx, dw.wte, NULL, a.logits, a.lnf, w.wte, N, c.C, c.V);
    layernorm_backward(k, a.dx, dw.lnf_w, dw.lnf_b, a.dx, stream(run, c.L - 1), a.lnf_mean,
                       a.lnf_rstd, w.lnf_w, N, c.C);
    for (int l = c.L - 1; l >= 0; l--) block_backward(run, k, l, stream(run, l - 1));
    dropout_apply(k, a.dx, a.dx, run_dropout(run, DROP_EMBEDDING, 0), N, c.C);
    embedding_backward(k, dw.wte, dw.wpe, a.dx, run->ids, B, T, c.C);
}

const Rung gpt_rung = {
    .name = "gpt",
    .idea = "the block of GPT-2, stacked: residuals, norms, MLP, dropout, tied head",
    .learning_rate = 1e-3,
    .has_width = true,
    .has_heads = true,
    .has_layers = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
