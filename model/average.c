/* average.c - each position sees the plain mean of its past.
 *
 *     x = wte[id] + wpe[position]
 *     y = x + proj(mean(x[0..t]))        the weights of a tril matrix, each row 1/(t+1)
 *     logits = lm_head(y)
 *
 * What it adds to the bigram: characters become vectors, with a place in the text, and the past is
 * seen, if only as a blur. */
#include "model/run.h"

typedef struct {
    float *wte, *wpe, *proj_w, *proj_b, *head_w, *head_b;
} Weights;

typedef struct {
    float *logits, *x, *mean, *proj, *y;
    float *dx, *dy, *dmean;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(proj_w, "mean.proj.weight", SIZE_C, SIZE_C, ONCE),
    BIAS(proj_b, "mean.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, ONCE),
    BIAS(head_b, "lm_head.bias", SIZE_V, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, ONCE),      /* remembered while generating */
    BUFFER(mean, SIZE_C, ONCE),
    BUFFER(proj, SIZE_C, ONCE),
    BUFFER(y, SIZE_C, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dy, SIZE_C, TRAINING),
    BUFFER(dmean, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

static void forward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, 0, &a);
    float *x = a.x + (size_t)run->past * (size_t)C; /* the new tokens, after those remembered */

    embedding_forward(k, x, run->ids, w.wte, w.wpe, B, T, run->past, C);
    mean_forward(k, a.mean, a.x, B, T, run->past, C);
    linear_forward(k, a.proj, a.mean, w.proj_w, w.proj_b, N, C, C);
    residual_forward(k, a.y, x, a.proj, (size_t)N * (size_t)C);
    linear_forward(k, a.logits, a.y, w.head_w, w.head_b, N, C, V);
}

static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Weights w, dw;
    Buffers a;
    run_weights(run, 0, &w);
    run_gradients(run, 0, &dw);
    run_buffers(run, 0, &a);

    linear_backward(k, a.dy, dw.head_w, dw.head_b, a.logits, a.y, w.head_w, N, C, V);
    linear_backward(k, a.dmean, dw.proj_w, dw.proj_b, a.dy, a.mean, w.proj_w, N, C, C);
    mean_backward(k, a.dx, a.dmean, B, T, C);
    residual_add(k, a.dx, a.dy, (size_t)N * (size_t)C);
    embedding_backward(k, dw.wte, dw.wpe, a.dx, run->ids, B, T, C);
}

const Rung average_rung = {
    .name = "average",
    .idea = "characters and places as vectors; the plain mean of the past",
    .learning_rate = 1e-2,
    .has_width = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
