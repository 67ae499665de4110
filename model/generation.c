/* generation.c - picks the next token, and keeps a text that grows beyond the context. */
#include "model/generation.h"
#include "base/array.h"
#include "base/elementary.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

/* ---- the sampler ---- */

/* Returns true if `a` is more likely than `b`, or equally likely and the smaller id. */
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

/* Moves the most likely token of the heap order[0..count) to its end, and returns it. */
static int32_t take(const float *logits, int32_t *order, int count) {
    int32_t id = order[0];
    order[0] = order[count - 1];
    order[count - 1] = id;
    sift(logits, order, 0, count - 1);
    return id;
}

/* Returns a token's probability as a share of the likeliest one's. */
static double share_of(const Sampler *sampler, const float *logits, int id, double largest) {
    return natural_exponential(((double)logits[id] - largest) / sampler->temperature);
}

static int likeliest_of(const float *logits, int V) {
    int likeliest = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[likeliest]) likeliest = v;
    return likeliest;
}

/* Orders the tokens that may be picked, the most likely one last of order[V]; if all may, by their
 * ids. Returns how many, and sets *total to the sum of their shares. The temperature is not 0. */
static int keep(const Sampler *sampler, const float *logits, int V, double largest, int32_t *order,
                double *total) {
    int k = sampler->top_k == 0 || sampler->top_k > V ? V : sampler->top_k, kept = 0;
    double everything = 0; /* of the k tokens */
    for (int v = 0; v < V; v++) order[v] = v;
    if (k == V)
        for (int v = 0; v < V; v++) everything += share_of(sampler, logits, v, largest);
    *total = everything;
    if (k == V && sampler->top_p >= 1) return V;

    for (int root = V / 2 - 1; root >= 0; root--) sift(logits, order, root, V);
    if (k < V)
        for (int i = 0; i < k; i++)
            everything += share_of(sampler, logits, take(logits, order, V - i), largest);
    *total = everything;
    if (sampler->top_p >= 1) return k;

    /* top_p is a share of the tokens that top_k keeps */
    *total = 0;
    while (kept < k && *total < sampler->top_p * everything) {
        int last = V - 1 - kept++;
        if (k == V) take(logits, order, last + 1);
        *total += share_of(sampler, logits, order[last], largest);
    }
    return kept;
}

int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, int32_t *order) {
    int likeliest = likeliest_of(logits, V);
    if (sampler->temperature <= 0) return likeliest;
    double largest = (double)logits[likeliest], total;
    int kept = keep(sampler, logits, V, largest, order, &total);
    double left = random_uniform(random_key(sampler->seed, RANDOM_SAMPLES, stream), place) * total;
    for (int i = 0; i < kept; i++) {
        int id = order[V - 1 - i];
        left -= share_of(sampler, logits, id, largest);
        if (left < 0) return id;
    }
    return likeliest; /* rounding left a remainder */
}

void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           int32_t *order) {
    int likeliest = likeliest_of(logits, V);
    for (int v = 0; v < V; v++) p[v] = 0;
    if (sampler->temperature <= 0) {
        p[likeliest] = 1;
        return;
    }
    double largest = (double)logits[likeliest], total;
    int kept = keep(sampler, logits, V, largest, order, &total);
    for (int i = 0; i < kept; i++) {
        int id = order[V - 1 - i];
        p[id] = share_of(sampler, logits, id, largest) / total;
    }
}

/* ---- the generator ---- */

bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err) {
    *generator = (Generator){0};
    int T = model->config.T;
    RunOptions options = {
        .batch = 1, .length = T, .frozen = true, .threads = threads, .precision = precision};
    if (!memory_alloc(&generator->window, (size_t)T, sizeof(int32_t), "the context", err))
        return false;
    if (run_open(&generator->run, model, &options, err)) {
        generator->context = T;
        generator->V = model->config.V;
        return true;
    }
    generator_close(generator);
    return false;
}

void generator_close(Generator *generator) {
    run_close(generator->run);
    memory_free(generator->window);
    *generator = (Generator){0};
}

void generator_reset(Generator *generator) {
    generator->length = 0;
}

const float *generator_feed(Generator *generator, const int32_t *ids, size_t count) {
    int T = generator->context;
    /* If the text is longer than the context, only its end is read. */
    if (count > (size_t)T) {
        ids += count - (size_t)T;
        count = (size_t)T;
    }
    int more = (int)count, past = generator->length;
    if (past + more > T) {
        /* Few tokens are kept, so that the mean context costs little more than that of a text which
         * has just begun, and even fewer if their keys and values depend on their position and must
         * be computed again. */
        bool slides = run_slides(generator->run);
        int keep = min_int(slides ? T / 4 : T / 16, T - more);
        if (slides) run_slide(generator->run, past - keep, keep);
        memmove(generator->window, generator->window + past - keep,
                (size_t)keep * sizeof *generator->window);
        generator->length = keep;
        past = slides ? keep : 0;
    }
    memcpy(generator->window + generator->length, ids, count * sizeof *ids);
    generator->length += more;
    int T_new = generator->length - past;
    const float *logits = run_forward(generator->run, generator->window + past, 1, T_new, past);
    return logits + (size_t)(T_new - 1) * (size_t)generator->V;
}
