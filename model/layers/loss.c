/* loss.c - cross-entropy: how much the actual next token surprises the model, in nats. */
#include "model/layers/tape.h"
#include "base/array.h"

/* The exponentials of a row give both its loss and its gradient. */
void cross_entropy(const Thread *thread, float *losses, float *dlogits, const float *logits,
                   const int32_t *targets, float scale, int N, int V) {
    enum { ROWS = 16 }; /* at a time, so that they stay in the cache */
    const size_t row = (size_t)V;
    for (int n = 0, some; n < N; n += some, logits += ROWS * row, dlogits += ROWS * row) {
        float lse[ROWS];
        some = min_int(ROWS, N - n);
        for (size_t i = 0; i < (size_t)some; i++)
            losses[n + (int)i] = logits[i * row + (size_t)targets[n + (int)i]];
        thread->isa->softmax(dlogits, row, lse, logits, 1.0f, some, V);
        for (size_t i = 0; i < (size_t)some; i++) {
            losses[n + (int)i] = lse[i] - losses[n + (int)i];
            dlogits[i * row + (size_t)targets[n + (int)i]] -= 1.0f;
        }
        for (size_t i = 0; i < (size_t)some * row; i++) dlogits[i] *= scale;
    }
}

static void backward(const Call *c) {
    const Pass *pass = c->pass;
    cross_entropy(c->thread, pass->losses + c->first, c->out[0], c->in[0], pass->targets + c->first,
                  pass->scale, c->N, (int)c->out_row[0]);
}

const Operation cross_entropy_backward = {
    .name = "cross_entropy", .compute = backward, .reused = 1};
