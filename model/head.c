/* head.c - the mean becomes one masked self-attention head.
 *
 *     q, k, v = query(x), key(x), value(x)
 *     y = x + proj(attention(q, k, v))    scores / sqrt(C), tril mask, softmax, mean of values
 *     logits = lm_head(y)
 *
 * What it adds to the average: each position chooses, by its query, whom of the past to hear. */
#include "model/run.h"

#include <math.h>

typedef struct {
    float *wte, *wpe, *query, *key, *value, *proj_w, *proj_b, *head_w, *head_b;
} Weights;

typedef struct {
    float *logits, *x, *q, *k, *v, *att, *lse, *proj, *y;
    float *dx, *dy, *dq, *dk, *dv, *datt;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(query, "sa_head.query.weight", SIZE_C, SIZE_C, ONCE),
    MATRIX(key, "sa_head.key.weight", SIZE_C, SIZE_C, ONCE),
    MATRIX(value, "sa_head.value.weight", SIZE_C, SIZE_C, ONCE),
    MATRIX(proj_w, "sa_head.proj.weight", SIZE_C, SIZE_C, ONCE),
    BIAS(proj_b, "sa_head.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, ONCE),
    BIAS(head_b, "lm_head.bias", SIZE_V, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, ONCE),
    BUFFER(q, SIZE_C, ONCE),
    BUFFER(k, SIZE_C, ONCE),        /* remembered while generating */
    BUFFER(v, SIZE_C, ONCE),        /* likewise */
    BUFFER(att, SIZE_C, ONCE),
    BUFFER(lse, SIZE_1, ONCE),
    BUFFER(proj, SIZE_C, ONCE),
    BUFFER(y, SIZE_C, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dy, SIZE_C, TRAINING),
    BUFFER(dq, SIZE_C, TRAINING),
    BUFFER(dk, SIZE_C, TRAINING),
    BUFFER(dv, SIZE_C, TRAINING),
    BUFFER(datt, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

static Attention one_head(const Run *run) {
    int C = run->model->config.C;
    size_t row = (size_t)C;
    return (Attention){.B = run->B,
                       .T = run->T,
                       .past = run->past,
                       .NH = 1,
                       .dk = C,
                       .dv = C,
                       .q_row = row,
                       .k_row = row,
                       .v_row = row,
                       .out_row = row,
                       .causal = true,
                       .scale = 1.0f / sqrtf((float)C)};
}

static void forward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    size_t past = (size_t)run->past * (size_t)C;
    Attention shape = one_head(run);
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, 0, &a);

    embedding_forward(k, a.x, run->ids, w.wte, w.wpe, B, T, run->past, C);
    linear_forward(k, a.q, a.x, w.query, NULL, N, C, C);
    linear_forward(k, a.k + past, a.x, w.key, NULL, N, C, C);
    linear_forward(k, a.v + past, a.x, w.value, NULL, N, C, C);
    attention_forward(k, a.att, a.lse, a.q, a.k, a.v, &shape);
    linear_forward(k, a.proj, a.att, w.proj_w, w.proj_b, N, C, C);
    residual_forward(k, a.y, a.x, a.proj, (size_t)N * (size_t)C);
    linear_forward(k, a.logits, a.y, w.head_w, w.head_b, N, C, V);
}

/* x goes four ways, into q, k, v and the residual: dy gathers what comes back. */
static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    size_t NC = (size_t)N * (size_t)C;
    Attention shape = one_head(run);
    Weights w, dw;
    Buffers a;
    run_weights(run, 0, &w);
    run_gradients(run, 0, &dw);
    run_buffers(run, 0, &a);

    linear_backward(k, a.dy, dw.head_w, dw.head_b, a.logits, a.y, w.head_w, N, C, V);
    linear_backward(k, a.datt, dw.proj_w, dw.proj_b, a.dy, a.att, w.proj_w, N, C, C);
    attention_backward(k, a.dq, a.dk, a.dv, a.datt, a.att, a.lse, a.q, a.k, a.v, &shape);
    linear_backward(k, a.dx, dw.query, NULL, a.dq, a.x, w.query, N, C, C);
    residual_add(k, a.dy, a.dx, NC);
    linear_backward(k, a.dx, dw.key, NULL, a.dk, a.x, w.key, N, C, C);
    residual_add(k, a.dy, a.dx, NC);
    linear_backward(k, a.dx, dw.value, NULL, a.dv, a.x, w.value, N, C, C);
    residual_add(k, a.dy, a.dx, NC);
    embedding_backward(k, dw.wte, dw.wpe, a.dy, run->ids, B, T, C);
}

const Rung head_rung = {
    .name = "head",
    .idea = "the mean becomes attention: query, key, value, one masked head",
    .learning_rate = 1e-2,
    .has_width = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
