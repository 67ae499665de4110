/* bigram.c - the next character from this one: a V x V table of logits.
 *
 * Row i holds the logits of what follows character i. That is all a bigram can know, so training
 * it must end where counting pairs ends. */
#include "model/run.h"

typedef struct {
    Param table;
} Weights;

typedef struct {
    float *logits;
} Buffers;

static const TensorSpec tensors[] = {
    {offsetof(Weights, table),
     "token_embedding_table.weight",
     {SIZE_V, SIZE_V},
     .flags = LAZY_ROWS}, /* of thousands of characters a batch holds hundreds */
};

/* clang-format off */
static const BufferSpec buffers[] = {
    BUFFER(logits, SIZE_V, ONCE),
};
/* clang-format on */
CHECK_TABLES;

static void forward(const Run *run, const Kernels *k) {
    int V = run->model->config.V;
    Weights w;
    Buffers a;
    Stretch s;
    run_weights(run, 0, &w);
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        run_buffers(run, k, 0, s.first, &a);
        embedding_forward(k, a.logits, run->ids + s.first, w.table, (Param){0}, s.first, s.count,
                          run->T, run->past, V);
    }
}

static void backward(const Run *run, const Kernels *k) {
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, k, 0, 0, &a);
    team_barrier(k); /* dlogits are whole */
    embedding_backward(k, w.table, (Param){0}, a.logits, run->ids, run->B, run->T,
                       run->model->config.V);
}

const Rung bigram_rung = {
    .name = "bigram",
    .idea = "the next character from this one: a table of logits",
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
