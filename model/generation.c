/* generation.c - picks the next token, and keeps a text that grows beyond the context. */
#include "model/generation.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/kernels/isa.h"

#include <assert.h>
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
 * last; without an order, all V by their ids. shares[V] is proportional to their probabilities. */
typedef struct {
    double *shares, total;
    int32_t *order;
    int kept;
} Choice;

/* The temperature is not GREEDY. */
static Choice choice_of(const Sampler *sampler, const float *logits, int V, double *scratch) {
    const Isa *isa = sampler->isa;
    const int k = sampler->top_k == EVERY_TOKEN || sampler->top_k > V ? V : sampler->top_k;
    Choice c = {.shares = scratch, .kept = k};
    double everything = c.total = isa->shares(c.shares, logits, sampler->temperature, V);
    if (k == V && sampler->top_p >= 1) return c;

    c.order = (int32_t *)(void *)(scratch + V);
    for (int v = 0; v < V; v++) c.order[v] = v;
    for (int root = V / 2 - 1; root >= 0; root--) sift(logits, c.order, root, V);
    if (k < V) everything = 0; /* the sum over the k tokens follows */
    for (int i = 0; i < k && k < V; i++) everything += c.shares[take(logits, c.order, V - i)];
    c.total = everything;
    if (sampler->top_p >= 1) return c;

    /* top_p is a share of the tokens that top_k keeps */
    c.total = c.kept = 0;
    while (c.kept < k && c.total < sampler->top_p * everything) {
        int last = V - 1 - c.kept++;
        if (k == V) take(logits, c.order, last + 1);
        c.total += c.shares[c.order[last]];
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

/* Picks the token at which the sum of shares exceeds u times that of all, as sampler_pick does, by
 * shares in float32, which are faster. Returns NO_ID if the sum may be on either side of that. */
static int pick_fast(const Sampler *sampler, const float *logits, int V, double u, float *shares) {
    if (V > NEAR_SHARES || sampler->top_k != EVERY_TOKEN || sampler->top_p < 1) return NO_ID;
    double total =
        (double)sampler->isa->near_shares(shares, logits, (float)(1 / sampler->temperature), V);
    double left = u * total, error = total * 0x1p-16;
    for (int id = V - 1; id >= 0 && left > error; id--) {
        left -= (double)shares[id];
        if (left < -error) return id;
    }
    return NO_ID;
}

int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, double *scratch) {
    if (sampler->temperature == GREEDY) return likeliest_of(logits, V);
    const double u = random_uniform(random_key(sampler->seed, RANDOM_SAMPLES, stream), place);
    const int fast = pick_fast(sampler, logits, V, u, (float *)(void *)scratch);
    if (fast != NO_ID) return fast;
    Choice c = choice_of(sampler, logits, V, scratch);
    double left = u * c.total;
    for (int i = 0; i < c.kept; i++) {
        int id = id_at(&c, V, i);
        left -= c.shares[id];
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
        p[id] = c.shares[id] / c.total;
    }
}

/* ---- the generator ---- */

bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err) {
    *generator = (Generator){0};
    int T = model->config.T;
    RunOptions options = {
        .batch = 1, .length = T, .frozen = true, .threads = threads, .precision = precision};
    if (memory_alloc(&generator->window, (size_t)T, sizeof(int32_t), "the context", err) &&
        run_open(&generator->run, model, &options, err))
        return true;
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

/* Makes room for `more` tokens in a window of T with `length`, and returns how many stay. Keeping
 * few makes contexts shorter, and so tokens cheaper, on average. Even fewer are kept if their keys
 * and values depend on positions and must be computed again. Sets *read to those that the run still
 * knows in this slot. */
static int make_room(Run *run, int slot, int32_t *window, int T, int length, int more, int *read) {
    const bool slides = run_slides(run);
    const int keep = min_int(slides ? T / 4 : T / 16, T - more);
    if (slides) run_slide(run, slot, length - keep, keep);
    memmove(window, window + length - keep, (size_t)keep * sizeof *window);
    *read = slides ? keep : 0;
    return keep;
}

const float *generator_feed(Generator *generator, const int32_t *ids, size_t count) {
    int T = run_model(generator->run)->config.T;
    /* If the text is longer than the context, only its end is read. */
    if (count > (size_t)T) {
        ids += count - (size_t)T;
        count = (size_t)T;
    }
    int more = (int)count, past = generator->length;
    if (past + more > T)
        generator->length = make_room(generator->run, 0, generator->window, T, past, more, &past);
    memcpy(generator->window + generator->length, ids, count * sizeof *ids);
    generator->length += more;
    int T_new = generator->length - past;
    const float *logits = run_forward(generator->run, generator->window + past, 1, T_new, past);
    return logits + (size_t)(T_new - 1) * (size_t)run_model(generator->run)->config.V;
}

/* ---- the group ---- */

bool group_open(Group *group, Model *model, int slots, Precision precision, const Run *packed_by,
                Error *err) {
    const size_t count = (size_t)slots, T = (size_t)model->config.T;
    const RunOptions options = {.batch = slots,
                                .length = model->config.T,
                                .frozen = true,
                                .threads = 1,
                                .precision = precision,
                                .growing = true,
                                .packed_by = packed_by};
    *group = (Group){0};
    if (memory_alloc(&group->windows, count * T, sizeof(int32_t), "the texts", err) &&
        memory_alloc(&group->lengths, count, sizeof(int), "the texts", err) &&
        memory_alloc(&group->read, count, sizeof(int), "the texts", err) &&
        memory_alloc(&group->next, count, sizeof *group->next, "the texts", err) &&
        run_open(&group->run, model, &options, err))
        return true;
    group_close(group);
    return false;
}

void group_close(Group *group) {
    run_close(group->run);
    memory_free(group->windows);
    memory_free(group->lengths);
    memory_free(group->read);
    memory_free(group->next);
    *group = (Group){0};
}

static int32_t *window_of(const Group *group, int slot) {
    return group->windows + (size_t)slot * (size_t)run_model(group->run)->config.T;
}

void group_begin(Group *group, int slot, const int32_t *ids, size_t count) {
    size_t T = (size_t)run_model(group->run)->config.T, some = min_size(count, T);
    memcpy(window_of(group, slot), ids + count - some, some * sizeof *ids);
    group->lengths[slot] = (int)some;
    group->read[slot] = 0;
}

void group_append(Group *group, int slot, int32_t id) {
    int T = run_model(group->run)->config.T, *length = &group->lengths[slot];
    int32_t *window = window_of(group, slot);
    assert(group_has_read(group, slot));
    if (*length == T) *length = make_room(group->run, slot, window, T, T, 1, &group->read[slot]);
    window[(*length)++] = id;
}

const float *group_read(Group *group, const int *slots, int count) {
    for (int i = 0; i < count; i++) {
        int past = group->read[slots[i]]++;
        group->next[i] = (Continuation){window_of(group, slots[i]) + past, past, slots[i]};
    }
    return run_grow(group->run, group->next, count);
}

bool group_has_read(const Group *group, int slot) {
    return group->read[slot] == group->lengths[slot];
}
