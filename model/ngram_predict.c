/* ngram_predict.c - the smoothed probabilities of the next token, from the tables of counts.
 *
 * With c(x) = the count of token x after the context (ngram_count.c), c = sum_x c(x), and n_i = the
 * tokens x with c(x) = i (n_3: 3 or more),
 *
 *     p(x | context) = (c(x) - D_c(x)) / c + left p(x | the context without its first token)
 *     left = (D_1 n_1 + D_2 n_2 + D_3 n_3) / c
 *
 * Below the empty context, all tokens are equally likely. */
#include "model/ngram.h"
#include "base/array.h"
#include "base/memory.h"
#include "model/ngram_tables.h"

#include <math.h>
#include <string.h>

void ngram_free(Ngram *g) {
    if (!g) return;
    for (int k = 0; k < MAX_ORDER; k++) {
        memory_free(g->levels[k].contexts);
        memory_free(g->levels[k].followers);
    }
    memory_free(g->ids);
    memory_free(g->parts);
    memory_free(g->base);
    memory_free(g);
}

NgramFacts ngram_facts(const Ngram *g) {
    if (!g) return (NgramFacts){0};
    return (NgramFacts){g->ids, g->count, g->fresh, g->order, g->size};
}

int ngram_fold(const Ngram *g, size_t place) {
    size_t length = g->count - g->fresh;
    return place < length ? (int)((uint64_t)place * FOLDS / length) : ALL_FOLDS;
}

/* ---- probabilities ---- */

static uint32_t count_without(const Ngram *g, const Follower *f, int fold) {
    if (fold == ALL_FOLDS) return f->count;
    if (f->part < 0) return f->part == all_in(fold) ? 0 : f->count;
    const uint32_t *part = g->parts + f->part;
    uint32_t lower = *part & ((1u << fold) - 1);
    if (!(*part >> fold & 1)) return f->count;
    int place = 1;
    for (; lower; lower &= lower - 1) place++;
    return f->count - part[place];
}

/* Returns the discount of a count in a level. */
static double discount_of(const Level *level, uint32_t count) {
    return count > 0 ? level->discounts[min_int((int)count, DISCOUNTS) - 1] : 0;
}

double add_context(const Ngram *g, const Level *level, size_t context, int fold, double weight,
                   double *p) {
    enum { REMEMBERED = 64 }; /* counts: reading their parts takes longest */
    const Follower *followers = level->followers + level->contexts[context].follower;
    const size_t size = level->contexts[context + 1].follower - level->contexts[context].follower;
    uint32_t counts[REMEMBERED];
    double total = 0, left = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t count = count_without(g, &followers[i], fold);
        if (i < REMEMBERED) counts[i] = count;
        total += count;
        left += discount_of(level, count);
    }
    if (total == 0) return weight;
    for (size_t i = 0; i < size; i++) {
        uint32_t count = i < REMEMBERED ? counts[i] : count_without(g, &followers[i], fold);
        p[followers[i].token] += weight / total * (count - discount_of(level, count));
    }
    return weight / total * left;
}

/* Returns the child of a context that begins with a token; false if there is none. */
static bool find_child(const Level *level, size_t context, const Level *longer, int32_t token,
                       size_t *child) {
    size_t low = level->contexts[context].child, end = level->contexts[context + 1].child,
           high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (longer->contexts[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    *child = low;
    return low < end && longer->contexts[low].token == token;
}

/* Does the work of add_context for contexts of `from` to `to` tokens that occur only here. */
static double add_single(const Ngram *g, size_t place, int from, int to, int fold, double weight,
                         double *p) {
    if (fold != ALL_FOLDS && folds_of(g, place) == 1 << fold) return weight;
    for (int k = to; k >= from; k--) {
        p[g->ids[place]] += weight * (1 - g->levels[k].discounts[0]);
        weight *= g->levels[k].discounts[0];
    }
    return weight;
}

/* Adds to p[V] the shares of the tokens that followed the known ones (see ngram_predict). Sets
 * *left to the weight of the base, and returns the length of the longest context. */
static int add_followers(const Ngram *g, const int32_t *last, size_t known, int fold, double *p,
                         double *left) {
    size_t contexts[MAX_ORDER] = {0};
    const int most = known < (size_t)g->order ? (int)known : g->order - 1;
    double weight = 1;
    int length = 0, single;
    while (length < most && find_child(&g->levels[length], contexts[length], &g->levels[length + 1],
                                       last[-length], &contexts[length + 1]))
        length++;
    const Context *found = &g->levels[length].contexts[contexts[length]];
    single = length + 1;
    if (found->follower == found[1].follower) {
        single = length;
        while (length < most && before(g, found->place, length + 1) == last[-length]) length++;
        weight = add_single(g, found->place, single, length, fold, weight, p);
    }
    for (int k = single - 1; k > 0; k--)
        weight = add_context(g, &g->levels[k], contexts[k], fold, weight, p);
    *left = weight;
    return length;
}

static const double *base_of(const Ngram *g, int fold) {
    return g->base + (size_t)(fold + 1) * (size_t)g->V;
}

int ngram_predict(const Ngram *g, const int32_t *last, size_t known, int fold, double *p) {
    double weight;
    memset(p, 0, (size_t)g->V * sizeof *p);
    const int length = add_followers(g, last, known, fold, p, &weight);
    for (int v = 0; v < g->V; v++) p[v] += weight * base_of(g, fold)[v];
    return length;
}

/* Returns the loss of last[1]. Only its own p is complete, because V may be a million. */
static double loss_after(const Ngram *g, const int32_t *last, size_t known, int fold, double *p) {
    const int32_t next = last[1];
    double weight;
    p[next] = 0;
    add_followers(g, last, known, fold, p, &weight);
    return -log(p[next] + weight * base_of(g, fold)[next]);
}

bool ngram_loss(const Ngram *g, const int32_t *ids, size_t count, int window, size_t every,
                bool counted, NgramLoss *loss, Error *err) {
    double *p, windows = 0, running = 0;
    size_t predicted = 0;
    if (!memory_alloc(&p, (size_t)g->V, sizeof *p, "the counts", err)) return false;
    for (size_t known = 1; known < count; known += every, predicted++) {
        const size_t in_window = (known - 1) % (size_t)window + 1;
        const int fold = counted ? ngram_fold(g, known) : ALL_FOLDS;
        const int32_t *last = ids + known - 1;
        const double nats = loss_after(g, last, known, fold, p);
        const bool cut = in_window < known && in_window < (size_t)g->order - 1;
        running += nats;
        windows += cut ? loss_after(g, last, in_window, fold, p) : nats;
    }
    *loss = (NgramLoss){windows / (double)predicted, running / (double)predicted};
    memory_free(p);
    return true;
}
