/* sampler.c - picks the next token from the logits. */
#include "model/model.h"
#include "base/random.h"

#include <math.h>

/* Is `a` more likely than `b`, or equally likely and the smaller id? */
static bool before(const float *logits, int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* Restores the heap order of order[0..count) at `root`: every parent before its children. */
static void sift(const float *logits, int32_t *order, int root, int count) {
    for (;;) {
        int best = root, left = 2 * root + 1, right = left + 1;
        if (left < count && before(logits, order[left], order[best])) best = left;
        if (right < count && before(logits, order[right], order[best])) best = right;
        if (best == root) return;
        int32_t id = order[root];
        order[root] = order[best];
        order[best] = id;
        root = best;
    }
}

int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, int32_t *order) {
    int likeliest = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[likeliest]) likeliest = v;
    if (sampler->temperature <= 0) return likeliest;

    /* e^((logit - largest) / temperature), at most 1, and its sum over the k most likely tokens */
    double largest = (double)logits[likeliest];
    bool all = (sampler->top_k == 0 || sampler->top_k >= V) && sampler->top_p >= 1;
    for (int v = 0; v < V; v++) order[v] = v;
    if (!all)
        for (int root = V / 2 - 1; root >= 0; root--) sift(logits, order, root, V);

    /* Each round moves the most likely token from the heap to the end. */
    int kept = 0, max = all || sampler->top_k == 0 || sampler->top_k > V ? V : sampler->top_k;
    double total = 0, everything = 0;
    for (int v = 0; v < V; v++)
        everything += exp(((double)logits[v] - largest) / sampler->temperature);
    if (all) {
        kept = V;
        total = everything;
    }
    while (!all && kept < max) {
        int last = V - 1 - kept++;
        int32_t id = order[0];
        order[0] = order[last];
        order[last] = id;
        sift(logits, order, 0, last);
        total += exp(((double)logits[id] - largest) / sampler->temperature);
        if (total >= sampler->top_p * everything) break;
    }
    double left = random_uniform(random_key(sampler->seed, RANDOM_SAMPLES, stream), place) * total;
    for (int i = 0; i < kept; i++) {
        int id = order[V - 1 - i];
        left -= exp(((double)logits[id] - largest) / sampler->temperature);
        if (left < 0) return id;
    }
    return likeliest; /* rounding left a remainder */
}
