/* loss.c - cross-entropy: how much the actual next token surprises the model, in nats. */
#include "model/layers/program.h"

void cross_entropy(const Thread *thread, float *losses, const float *logits, const int32_t *targets,
                   int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++)
        losses[n] =
            thread->isa->log_sum_exp(logits + n * row, V) - logits[n * row + (size_t)targets[n]];
}

/* Where another model teaches, `teacher_share` of each target is its probabilities, and the rest
 * the actual token. */
static void backward(const Call *c) {
    const Pass *pass = c->pass;
    size_t row = c->out_row[0];
    float share = pass->teacher_share * pass->scale;
    for (size_t n = 0; n < (size_t)c->N; n++) {
        float *to = c->out[0] + n * row, lse;
        int32_t target = pass->targets[c->first + n];
        c->thread->isa->softmax(to, row, &lse, c->in[0] + n * row, 1.0f, 1, (int)row);
        to[target] -= 1.0f;
        for (size_t v = 0; v < row; v++) to[v] *= pass->scale;
        if (!pass->teacher) continue;
        c->thread->isa->axpby(to, 1.0f, pass->teacher + (c->first + n) * row, -share, row);
        to[target] += share;
    }
}

const Operation cross_entropy_backward = {
    .name = "cross_entropy_backward", .compute = backward, .reused = 1};
