/* generation.c - picks the next token, and keeps a text that grows beyond the context. */
#include "model/generation.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/kernels/isa.h"

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

static int likeliest_of(const float *logits, int V) {
    int likeliest = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[likeliest]) likeliest = v;
    return likeliest;
}

/* The tokens that may be picked: their ids are the last `kept` of order[V], the most likely one
 * last; without an order, all V by their ids. numerators[V] is proportional to their probabilities.
 */
typedef struct {
    double *numerators, total;
    int32_t *order;
    int kept;
} Choice;

/* The temperature is not GREEDY. */
static Choice choice_of(const Sampler *sampler, const float *logits, int V, double *scratch) {
    const Isa *isa = sampler->isa;
    const int k = sampler->top_k == EVERY_TOKEN || sampler->top_k > V ? V : sampler->top_k;
    Choice c = {.numerators = scratch, .kept = k};
    double everything = c.total = isa->numerators(c.numerators, logits, sampler->temperature, V);
    if (k == V && sampler->top_p >= 1) return c;

    c.order = (int32_t *)(void *)(scratch + V);
    for (int v = 0; v < V; v++) c.order[v] = v;
    for (int root = V / 2 - 1; root >= 0; root--) sift(logits, c.order, root, V);
    if (k < V) everything = 0; /* the sum over the k tokens follows */
    for (int i = 0; i < k && k < V; i++) everything += c.numerators[take(logits, c.order, V - i)];
    c.total = everything;
    if (sampler->top_p >= 1) return c;

    /* top_p is a share of the probability of the tokens that top_k keeps */
    c.total = c.kept = 0;
    while (c.kept < k && c.total < sampler->top_p * everything) {
        int last = V - 1 - c.kept++;
        if (k == V) take(logits, c.order, last + 1);
        c.total += c.numerators[c.order[last]];
    }
    return c;
}

/* Returns the id of choice i. */
static int id_at(const Choice *c, int V, int i) {
    return c->order ? c->order[V - 1 - i] : V - 1 - i;
}

bool sampler_prepare(Sampler *sampler, Error *err) {
    sampler->isa = isa_choose(err);
    return sampler->isa;
}

/* Picks the token at which the sum of numerators exceeds u times that of all, as sampler_pick does,
 * by numerators in float32, which are faster. Returns NO_ID if the sum may be on either side of
 * that. */
static int pick_fast(const Sampler *sampler, const float *logits, int V, double u,
                     float *numerators) {
    if (V > NEAR_NUMERATORS || sampler->top_k != EVERY_TOKEN || sampler->top_p < 1) return NO_ID;
    double total = (double)sampler->isa->near_numerators(numerators, logits,
                                                         (float)(1 / sampler->temperature), V);
    double left = u * total, error = total * 0x1p-16;
    for (int id = V - 1; id >= 0 && left > error; id--) {
        left -= (double)numerators[id];
        if (left < -error) return id;
    }
    return NO_ID;
}

int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream, uint64_t draw,
                 double *scratch) {
    if (sampler->temperature == GREEDY) return likeliest_of(logits, V);
    const double u = random_uniform(random_key(sampler->seed, RANDOM_SAMPLES, stream), draw);
    const int fast = pick_fast(sampler, logits, V, u, (float *)(void *)scratch);
    if (fast != NO_ID) return fast;
    Choice c = choice_of(sampler, logits, V, scratch);
    double left = u * c.total;
    for (int i = 0; i < c.kept; i++) {
        int id = id_at(&c, V, i);
        left -= c.numerators[id];
        if (left < 0) return id;
    }
    return likeliest_of(logits, V); /* rounding left a remainder */
}

void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           double *scratch) {
    for (int v = 0; v < V; v++) p[v] = 0;
    if (sampler->temperature == GREEDY) {
        p[likeliest_of(logits, V)] = 1;
        return;
    }
    Choice c = choice_of(sampler, logits, V, scratch);
    for (int i = 0; i < c.kept; i++) {
        int id = id_at(&c, V, i);
        p[id] = c.numerators[id] / c.total;
    }
}

/* ---- texts that grow ---- */

bool generator_open(Generator *g, Model *model, int slots, int threads, Precision precision,
                    const Run *packed_by, Error *err) {
    enum { PROMPT_TOKENS = 32 }; /* in a pass over a prompt: they share each read of the weights */
    const size_t count = (size_t)slots, T = (size_t)model->config.T;
    *g = (Generator){.slots = slots, .most = slots > PROMPT_TOKENS ? slots : PROMPT_TOKENS};
    const RunOptions options = {.batch = g->most,
                                .length = model->config.T,
                                .threads = threads,
                                .precision = precision,
                                .slots = slots,
                                .packed_by = packed_by};
    if (memory_alloc(&g->windows, count * T, sizeof(int32_t), "the texts", err) &&
        memory_alloc(&g->texts, count, sizeof *g->texts, "the texts", err) &&
        memory_alloc(&g->next, (size_t)g->most, sizeof *g->next, "the texts", err) &&
        run_open(&g->run, model, &options, err))
        return true;
    generator_close(g);
    return false;
}

void generator_close(Generator *g) {
    run_close(g->run);
    memory_free(g->windows);
    memory_free(g->texts);
    memory_free(g->next);
    *g = (Generator){0};
}

static int32_t *window_of(const Generator *g, int slot) {
    return g->windows + (size_t)slot * (size_t)run_model(g->run)->config.T;
}

void generator_begin(Generator *g, int slot) {
    g->texts[slot].length = g->texts[slot].read = 0;
}

/* The tokens that a full window keeps are read again, because their keys and values depend on those
 * before them. Fewer would cost less time, more would be better predicted: an eighth costs as much
 * as the shorter contexts save. */
void generator_append(Generator *g, int slot, const int32_t *ids, size_t count) {
    const int T = run_model(g->run)->config.T, some = (int)min_size(count, (size_t)T);
    int32_t *window = window_of(g, slot);
    int *length = &g->texts[slot].length;
    if (*length + some > T) {
        const int keep = min_int(T / 8, T - some);
        memmove(window, window + *length - keep, (size_t)keep * sizeof *window);
        *length = keep;
        g->texts[slot].read = 0;
    }
    memcpy(window + *length, ids + count - some, (size_t)some * sizeof *ids);
    *length += some;
}

void generator_read(Generator *g) {
    int listed = 0;
    for (int slot = 0; slot < g->slots; slot++) {
        const int room = g->most - listed - (g->slots - 1 - slot); /* later texts get one each */
        int *read = &g->texts[slot].read;
        const int end = min_int(g->texts[slot].length, *read + room);
        for (; *read < end; ++*read) {
            g->texts[slot].row = listed;
            g->next[listed++] = (DecodeToken){window_of(g, slot) + *read, *read, slot};
        }
    }
    g->logits = run_decode(g->run, g->next, listed);
}

const float *generator_logits(const Generator *g, int slot) {
    const size_t V = (size_t)run_model(g->run)->config.V, row = (size_t)g->texts[slot].row;
    const int length = g->texts[slot].length;
    return length > 0 && g->texts[slot].read == length ? g->logits + row * V : NULL;
}
