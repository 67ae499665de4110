/* loss.c - cross-entropy: how much the actual next token surprises the model, in nats. */
#include "model/layers/program.h"

void compute_cross_entropy(const Thread *thread, float *losses, const float *logits,
                           const int32_t *targets, int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++)
        losses[n] =
            thread->isa->log_sum_exp(logits + n * row, V) - logits[n * row + (size_t)targets[n]];
}

void compute_cross_entropy_backward(const Thread *thread, float *dlogits, const float *logits,
                                    const int32_t *targets, float scale, int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++) {
        float *to = dlogits + n * row, lse;
        thread->isa->softmax(to, row, &lse, logits + n * row, 1.0f, 1, V);
        to[targets[n]] -= 1.0f;
        for (size_t v = 0; v < row; v++) to[v] *= scale;
    }
}

void compute_distillation(const Thread *thread, float *dlogits, const float *probabilities,
                          const int32_t *targets, float scale, int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++) {
        float *to = dlogits + n * row;
        thread->isa->axpby(to, 1.0f, probabilities + n * row, -scale, row);
        to[targets[n]] += scale;
    }
}

/* ---- as an instruction ---- */

static void backward(const Call *c) {
    compute_cross_entropy_backward(c->thread, c->out[0], c->in[0], c->targets + c->first, c->scale,
                                   c->N, (int)c->out_row[0]);
    if (!c->taught) return;
    size_t row = c->out_row[0];
    compute_distillation(c->thread, c->out[0], c->taught + c->first * row, c->targets + c->first,
                         c->taught_share * c->scale, c->N, (int)row);
}

const Operation cross_entropy = {
    .name = "cross_entropy_backward", .compute = backward, .reused = 1};
