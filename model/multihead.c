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
    float *wte, *wpe, *qkv, *proj_w, *proj_b, *head_w, *head_b;
} Weights;

typedef struct {
    float *logits, *x, *qkv, *att, *lse, *proj, *y;
    float *dx, *dy, *dqkv, *datt;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(qkv, "sa_heads.qkv.weight", SIZE_3C, SIZE_C, ONCE),
    MATRIX(proj_w, "sa_heads.proj.weight", SIZE_C, SIZE_C, ONCE),
    BIAS(proj_b, "sa_heads.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, ONCE),
    BIAS(head_b, "lm_head.bias", SIZE_V, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, ONCE),
    BUFFER(qkv, SIZE_3C, ONCE),      /* keys and values are remembered while generating */
    BUFFER(att, SIZE_C, ONCE),
    BUFFER(lse, SIZE_NH, ONCE),
    BUFFER(proj, SIZE_C, ONCE),
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

static void forward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Attention shape = heads(run);
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, 0, &a);
    float *qkv = a.qkv + 3 * (size_t)run->past * (size_t)C; /* the new tokens' */

    embedding_forward(k, a.x, run->ids, w.wte, w.wpe, B, T, run->past, C);
    linear_forward(k, qkv, a.x, w.qkv, NULL, N, C, 3 * C);
    attention_forward(k, a.att, a.lse, qkv, a.qkv + C, a.qkv + 2 * C, &shape);
    linear_forward(k, a.proj, a.att, w.proj_w, w.proj_b, N, C, C);
    residual_forward(k, a.y, a.x, a.proj, (size_t)N * (size_t)C);
    linear_forward(k, a.logits, a.y, w.head_w, w.head_b, N, C, V);
}

static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Attention shape = heads(run);
    Weights w, dw;
    Buffers a;
    run_weights(run, 0, &w);
    run_gradients(run, 0, &dw);
    run_buffers(run, 0, &a);

    linear_backward(k, a.dy, dw.head_w, dw.head_b, a.logits, a.y, w.head_w, N, C, V);
    linear_backward(k, a.datt, dw.proj_w, dw.proj_b, a.dy, a.att, w.proj_w, N, C, C);
    attention_backward(k, a.dqkv, a.dqkv + C, a.dqkv + 2 * C, a.datt, a.att, a.lse, a.qkv,
                       a.qkv + C, a.qkv + 2 * C, &shape);
    linear_backward(k, a.dx, dw.qkv, NULL, a.dqkv, a.x, w.qkv, N, C, 3 * C);
    residual_add(k, a.dx, a.dy, (size_t)N * (size_t)C);
    embedding_backward(k, dw.wte, dw.wpe, a.dx, run->ids, B, T, C);
}

const Rung multihead_rung = {
    .name = "multihead",
    .idea = "several heads, concatenated and projected",
    .learning_rate = 1e-2,
    .has_width = true,
    .has_heads = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
