/* loss.c - how surprised the model is by the character that really came, in nats. */
#include "model/layers.h"

void cross_entropy_forward(const Kernels *k, float *losses, const float *logits,
                           const int32_t *targets, int N, int V) {
    size_t row = (size_t)V;
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *row))
    for (int n = 0; n < N; n++) {
        const float *of = logits + (size_t)n * row;
        losses[n] = k->isa->log_sum_exp(of, V) - of[targets[n]];
    }
}

void cross_entropy_backward(const Kernels *k, float *dlogits, const float *logits,
                            const int32_t *targets, float scale, int N, int V) {
    size_t row = (size_t)V;
#pragma omp parallel for schedule(static) num_threads(kernels_threads(k, (size_t)N *row))
    for (int n = 0; n < N; n++) {
        float *to = dlogits + (size_t)n * row;
        k->isa->softmax(to, logits + (size_t)n * row, 1.0f, V);
        to[targets[n]] -= 1.0f;
        for (int v = 0; v < V; v++) to[v] *= scale;
    }
}
