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
    Param wte, wpe, query, key, value, proj_w, proj_b, head_w, head_b;
} Weights;

typedef struct {
    float *logits, *x, *q, *k, *v, *att, *lse, *proj, *y;
    float *dx, *dy, *dq, *dk, *dv, *datt, *dbranch;
} Buffers;

static const TensorSpec tensors[] = {
    MATRIX(wte, "token_embedding_table.weight", SIZE_V, SIZE_C, ONCE),
    MATRIX(wpe, "position_embedding_table.weight", SIZE_T, SIZE_C, ONCE),
    MATRIX(query, "sa_head.query.weight", SIZE_C, SIZE_C, LINEAR),
    MATRIX(key, "sa_head.key.weight", SIZE_C, SIZE_C, LINEAR),
    MATRIX(value, "sa_head.value.weight", SIZE_C, SIZE_C, LINEAR),
    MATRIX(proj_w, "sa_head.proj.weight", SIZE_C, SIZE_C, LINEAR),
    BIAS(proj_b, "sa_head.proj.bias", SIZE_C, ONCE),
    MATRIX(head_w, "lm_head.weight", SIZE_V, SIZE_C, LINEAR),
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
    BUFFER(proj, SIZE_C, SCRATCH),
    BUFFER(y, SIZE_C, ONCE),
    BUFFER(dx, SIZE_C, TRAINING),
    BUFFER(dy, SIZE_C, TRAINING),
    BUFFER(dq, SIZE_C, TRAINING),
    BUFFER(dk, SIZE_C, TRAINING),
    BUFFER(dv, SIZE_C, TRAINING),
    BUFFER(datt, SIZE_C, TRAINING),
    BUFFER(dbranch, SIZE_C, TRAINING | SCRATCH),
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

/* Up to the queries, keys and values of a stretch. */
static void ask(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    int C = run->model->config.C;
    size_t past = (size_t)run->past * (size_t)C;
    Buffers a;
    run_buffers(run, k, 0, s.first, &a);
    embedding_forward(k, a.x, run->ids + s.first, w->wte, w->wpe, s.first, s.count, run->T,
                      run->past, C);
    linear_forward(k, a.q, a.x, w->query, (Param){0}, s.count, C, C);
    linear_forward(k, a.k + past, a.x, w->key, (Param){0}, s.count, C, C);
    linear_forward(k, a.v + past, a.x, w->value, (Param){0}, s.count, C, C);
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
    Attention shape = one_head(run);
    Weights w;
    Buffers all;
    Stretch s;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &all);

    for (int i = 0; run_stretch(run, k, i, &s); i++) ask(run, k, &w, s);
    team_barrier(k);
    attention_forward(k, all.att, all.lse, all.q, all.k, all.v, &shape);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) predict(run, k, &w, s);
}

/* x goes four ways, into q, k, v and the residual: dx gathers what comes back. */
static void gather(const Run *run, const Kernels *k, const Weights *w, Stretch s) {
    int C = run->model->config.C;
    size_t size = (size_t)s.count * (size_t)C;
    Buffers a;
    run_buffers(run, k, 0, s.first, &a);
    linear_backward(k, a.dx, a.dq, w->query, s.count, C, C);
    residual_add(k, a.dx, a.dy, size);
    linear_backward(k, a.dbranch, a.dk, w->key, s.count, C, C);
    residual_add(k, a.dx, a.dbranch, size);
    linear_backward(k, a.dbranch, a.dv, w->value, s.count, C, C);
    residual_add(k, a.dx, a.dbranch, size);
}

static void backward(const Run *run, const Kernels *k) {
    int B = run->B, T = run->T, N = B * T, C = run->model->config.C, V = run->model->config.V;
    Attention shape = one_head(run);
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
    attention_backward(k, all.dq, all.dk, all.dv, all.datt, all.att, all.lse, all.q, all.k, all.v,
                       &shape);
    team_barrier(k);
    for (int i = 0; run_stretch(run, k, i, &s); i++) gather(run, k, &w, s);
    linear_gradients(k, w.head_w, w.head_b, all.logits, all.y, N, C, V);
    linear_gradients(k, w.proj_w, w.proj_b, all.dy, all.att, N, C, C);
    linear_gradients(k, w.query, (Param){0}, all.dq, all.x, N, C, C);
    linear_gradients(k, w.key, (Param){0}, all.dk, all.x, N, C, C);
    linear_gradients(k, w.value, (Param){0}, all.dv, all.x, N, C, C);
    team_barrier(k);
    embedding_backward(k, w.wte, w.wpe, all.dx, run->ids, B, T, C);
}

static void sight(const Run *run, int l, Sight *sight) {
    Weights w;
    Buffers all;
    run_weights(run, l, &w);
    run_buffers(run, NULL, l, 0, &all);
    *sight = (Sight){.shape = one_head(run),
                     .q = all.q,
                     .k = all.k,
                     .v = all.v,
                     .att = all.att,
                     .projection = w.proj_w,
                     .bias = w.proj_b};
}

const Rung head_rung = {
    .name = "head",
    .idea = "the mean becomes attention: query, key, value, one masked head",
    .has_width = true,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
    .sight = sight,
};
