/* bigram.c - the next character from this one: a V x V table of logits.
 *
 * Row i holds the logits of what follows character i. That is all a bigram can know, so training
 * it must end where counting pairs ends. */
#include "model/run.h"

typedef struct {
    float *table;
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
    Weights w;
    Buffers a;
    run_weights(run, 0, &w);
    run_buffers(run, 0, &a);
    embedding_forward(k, a.logits, run->ids, w.table, NULL, run->B, run->T, run->past,
                      run->model->config.V);
}

static void backward(const Run *run, const Kernels *k) {
    Weights dw;
    Buffers a;
    run_gradients(run, 0, &dw);
    run_buffers(run, 0, &a);
    embedding_backward(k, dw.table, NULL, a.logits, run->ids, run->B, run->T, run->model->config.V);
}

const Rung bigram_rung = {
    .name = "bigram",
    .idea = "the next character from this one: a table of logits",
    .learning_rate = 0.03,
    .tensors = tensors,
    .tensor_count = COUNT(tensors),
    .buffers = buffers,
    .buffer_count = COUNT(buffers),
    .forward = forward,
    .backward = backward,
};
