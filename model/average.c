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
    Param wte, wpe, proj_w, proj_b, head_w, head_b;
} Weights;

typedef struct {
    float *logits, *x, *mean, *proj, *y;
    float *dx, *dy;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(proj_w, "mean.proj.weight", SIZE_C, SIZE_C, LINEAR),
    BIAS(proj_b, "mean.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, LINEAR),
    BIAS(head_b, "lm_head.bias", SIZE_V, ONCE),
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
    BUFFER(x, SIZE_C, ONCE),      /* remembered while generating */
    BUFFER(mean, SIZE_C, ONCE),
    BUFFER(proj, SIZE_C, SCRATCH),
    BUFFER(y, SIZE_C, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dy, SIZE_C, TRAINING),
};
/* clang-format on */
CHECK_TABLES;

static void embed(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    Buffers a;
    run_buffers(run, k, 0, (size_t)run->past + s.first, &a);
    embedding_forward(k, a.x, run->ids + s.first, w->wte, w->wpe, s.first, s.count, run->T,
                      run->past, run->model->config.C);
}

static void predict(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    int C = run->model->config.C, V = run->model->config.V;
    Buffers a;
    run_buffers(run, k, 0, s.first, &a);
    const float *x =
        a.x + (size_t)run->past * (size_t)C; /* the new tokens, after those remembered */
    linear_forward(k, a.proj, a.mean, w->proj_w, w->proj_b, s.count, C, C);
    residual_forward(k, a.y, x, a.proj, (size_t)s.count * (size_t)C);
    linear_forward(k, a.logits, a.y, w->head_w, w->head_b, s.count, C, V);
}

static void forward(const Run *run, const Kernels *k) {
    Weights w;
    Buffers all;
    Stretch s;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);

    for (int i = 0; run_stretch(run, k, i, &s); i++) embed(run, k, &w, s);
    team_barrier(k);
    mean_forward(k, all.mean, all.x, run->B, run->T, run->past, run->model->config.C);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) predict(run, k, &w, s);
}

static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Weights w;
    Buffers a, all;
    Stretch s;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);

    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        run_buffers(run, k, 0, s.first, &a);
        linear_backward(k, a.dy, a.logits, w.head_w, s.count, C, V);
        linear_backward(k, a.dx, a.dy, w.proj_w, s.count, C, C);
    }
    team_barrier(k);
    linear_gradients(k, w.head_w, w.head_b, all.logits, all.y, N, C, V);
    linear_gradients(k, w.proj_w, w.proj_b, all.dy, all.mean, N, C, C);
    mean_backward(k, all.dx, all.dx, B, T, C);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        run_buffers(run, k, 0, s.first, &a);
        residual_add(k, a.dx, a.dy, (size_t)s.count * (size_t)C);
    }
    team_barrier(k);
    embedding_backward(k, w.wte, w.wpe, all.dx, run->ids, B, T, C);
}

static void sight(const Run *run, int l, Sight *sight) {
    int C = run->model->config.C;
    Attention shape = {.T = run->T, .NH = 1, .dv = C, .v_row = (size_t)C, .out_row = (size_t)C};
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, NULL, l, 0, &all);
    *sight = (Sight){
        .shape = shape, .v = all.x, .att = all.mean, .projection = w.proj_w, .bias = w.proj_b};
}

const Rung average_rung = {
    .name = "average",
    .idea = "characters and places as vectors; the plain mean of the past",
    .has_width = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
    .sight = sight,
};
