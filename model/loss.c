/* loss.c - how surprised the model is by the character that really came, in nats. */
#include "model/layers.h"

void cross_entropy_forward(const Kernels *k, float *losses, const float *logits,
                           const int32_t *targets, int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++)
        losses[n] = k->isa->log_sum_exp(logits + n * row, V) - logits[n * row + (size_t)targets[n]];
}

void cross_entropy_backward(const Kernels *k, float *dlogits, const float *logits,
                            const int32_t *targets, float scale, int N, int V) {
    size_t row = (size_t)V;
    for (size_t n = 0; n < (size_t)N; n++) {
        float *to = dlogits + n * row, lse;
        k->isa->softmax(to, row, &lse, logits + n * row, 1.0f, 1, V);
        to[targets[n]] -= 1.0f;
        for (size_t v = 0; v < row; v++) to[v] *= scale;
    }
}
