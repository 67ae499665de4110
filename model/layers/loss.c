/* loss.c - cross-entropy: how much the actual next token surprises the model, in nats. */
#include "model/layers/tape.h"
#include "base/array.h"

void cross_entropy(const Thread *thread, float *losses, const float *logits, const int32_t *targets,
                   int N, int V) {
    size_t row = (size_t)V;
    thread->isa->log_sum_exp(losses, logits, row, N, V);
    for (size_t n = 0; n < (size_t)N; n++) losses[n] -= logits[n * row + (size_t)targets[n]];
}

/* The exponentials of a row give both its loss and its gradient. */
static void backward(const Call *c) {
    enum { ROWS = 16 }; /* at a time, so that they stay in the cache */
    const Pass *pass = c->pass;
    size_t row = c->out_row[0];
    int some;
    for (int n = 0; n < c->N; n += some) {
        const float *from = c->in[0] + (size_t)n * row;
        float *to = c->out[0] + (size_t)n * row, lse[ROWS];
        const int32_t *targets = pass->targets + c->first + n;
        float *losses = pass->losses + c->first + n;
        some = min_int(ROWS, c->N - n);
        for (size_t i = 0; i < (size_t)some; i++) losses[i] = from[i * row + (size_t)targets[i]];
        c->thread->isa->softmax(to, row, lse, from, 1.0f, some, (int)row);
        for (size_t i = 0; i < (size_t)some; i++) {
            losses[i] = lse[i] - losses[i];
            to[i * row + (size_t)targets[i]] -= 1.0f;
        }
        for (size_t i = 0; i < (size_t)some * row; i++) to[i] *= pass->scale;
    }
}

const Operation cross_entropy_backward = {
    .name = "cross_entropy", .compute = backward, .reused = 1};
