/* multihead.c - several heads side by side, concatenated, projected.
 *
 *     q, k, v = qkv(x)                     one product for all three and for every head
 *     y = x + proj(attention(q, k, v))     NH heads of C/NH channels each, scores / sqrt(C/NH)
 *     logits = lm_head(y)
 *
 * What it adds to the head: a position can hear several others at once, each for another reason,
 * at the same cost. */
#include "model/run.h"

#include <math.h>

typedef struct {
    Param wte, wpe, qkv, proj_w, proj_b, head_w, head_b;
} Weights;

typedef struct {
    float *logits, *x, *qkv, *att, *lse, *proj, *y;
    float *dx, *dy, *dqkv, *datt;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(qkv, "sa_heads.qkv.weight", SIZE_3C, SIZE_C, LINEAR),
    MATRIX(proj_w, "sa_heads.proj.weight", SIZE_C, SIZE_C, LINEAR),
    BIAS(proj_b, "sa_heads.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, LINEAR),
    BIAS(head_b, "lm_head.bias", SIZE_V, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, ONCE),
    BUFFER(qkv, SIZE_3C, ONCE),      /* keys and values are remembered while generating */
    BUFFER(att, SIZE_C, ONCE),
    BUFFER(lse, SIZE_NH, ONCE),
    BUFFER(proj, SIZE_C, SCRATCH),
    BUFFER(y, SIZE_C, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dy, SIZE_C, TRAINING),
    BUFFER(dqkv, SIZE_3C, TRAINING),
    BUFFER(datt, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

static Attention heads(const Run *run) {
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
                       .scale = 1.0f / sqrtf((float)hs)};
}

/* Up to the queries, keys and values of a stretch. */
static void ask(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    int C = run->model->config.C;
    Buffers a;
    run_buffers(run, k, 0, s.first, &a);
    float *qkv = a.qkv + 3 * (size_t)run->past * (size_t)C; /* after those remembered */
    embedding_forward(k, a.x, run->ids + s.first, w->wte, w->wpe, s.first, s.count, run->T,
                      run->past, C);
    linear_forward(k, qkv, a.x, w->qkv, (Param){0}, s.count, C, 3 * C);
}

static void predict(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    int C = run->model->config.C, V = run->model->config.V;
    Buffers a;
    run_buffers(run, k, 0, s.first, &a);
    linear_forward(k, a.proj, a.att, w->proj_w, w->proj_b, s.count, C, C);
    residual_forward(k, a.y, a.x, a.proj, (size_t)s.count * (size_t)C);
    linear_forward(k, a.logits, a.y, w->head_w, w->head_b, s.count, C, V);
}

static void forward(const Run *run, const Kernels *k) {
    int C = run->model->config.C;
    Attention shape = heads(run);
    Weights w;
    Buffers all;
    Stretch s;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);
    const float *q = all.qkv + 3 * (size_t)run->past * (size_t)C;

    for (int i = 0; run_stretch(run, k, i, &s); i++) ask(run, k, &w, s);
    team_barrier(k);
    attention_forward(k, all.att, all.lse, q, all.qkv + C, all.qkv + 2 * C, &shape);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) predict(run, k, &w, s);
}

static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Attention shape = heads(run);
    Weights w;
    Buffers a, all;
    Stretch s;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);

    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        run_buffers(run, k, 0, s.first, &a);
        linear_backward(k, a.dy, a.logits, w.head_w, s.count, C, V);
        linear_backward(k, a.datt, a.dy, w.proj_w, s.count, C, C);
    }
    team_barrier(k);
    attention_backward(k, all.dqkv, all.dqkv + C, all.dqkv + 2 * C, all.datt, all.att, all.lse,
                       all.qkv, all.qkv + C, all.qkv + 2 * C, &shape);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        run_buffers(run, k, 0, s.first, &a);
        linear_backward(k, a.dx, a.dqkv, w.qkv, s.count, C, 3 * C);
        residual_add(k, a.dx, a.dy, (size_t)s.count * (size_t)C);
    }
    linear_gradients(k, w.head_w, w.head_b, all.logits, all.y, N, C, V);
    linear_gradients(k, w.proj_w, w.proj_b, all.dy, all.att, N, C, C);
    linear_gradients(k, w.qkv, (Param){0}, all.dqkv, all.x, N, C, 3 * C);
    team_barrier(k);
    embedding_backward(k, w.wte, w.wpe, all.dx, run->ids, B, T, C);
}

static void sight(const Run *run, int l, Sight *sight) {
    int C = run->model->config.C;
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, NULL, l, 0, &all);
    *sight = (Sight){.shape = heads(run),
                     .q = all.qkv,
                     .k = all.qkv + C,
                     .v = all.qkv + 2 * C,
                     .att = all.att,
                     .projection = w.proj_w,
                     .bias = w.proj_b};
}

const Rung multihead_rung = {
    .name = "multihead",
    .idea = "several heads, concatenated and projected",
    .has_width = true,
    .has_heads = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
    .sight = sight,
};
