/* ngram_count.c - counts the tokens that followed each context of a text.
 *
 * The tree of contexts is made from a list of all places in the text, sorted by the tokens before
 * them, the nearest first: the places of a context are then neighbors in the list.
 *
 * In the longest contexts, the count of a token is how often it followed. In all others it is the
 * number of different tokens that stood before the context when this token followed it: "Francisco"
 * is frequent, but follows only "San". The discounts D are, for all contexts of one
 * length, with N_i the tokens in them that have count i and Y = N_1 / (N_1 + 2 N_2):
 *
 *     D_i = i - (i + 1) Y N_(i+1) / N_i,  or i / 2 where this is not in (0, i]
 *
 * The order is the highest one, from LEAST_ORDER to the model's, whose tables take at most BYTES
 * per token. */
#include "base/array.h"
#include "base/memory.h"
#include "model/ngram_tables.h"

#include <assert.h>
#include <string.h>

enum { BYTES = 40, LEAST_ORDER = 3 };

static bool fail_long(size_t count, Error *err) {
    return fail(err, "%zu characters are too many to count", count);
}

static bool alloc(Ngram *g, void *block, size_t count, size_t size, Error *err) {
    g->size += count * size;
    return memory_alloc(block, count, size, "the counts", err);
}

/* Checks that the machine has the most bytes that counting so many tokens may take. */
static bool check_memory(double count, Error *err) {
    const double parts = 12, copies = 2.5; /* the parts' memory is copied while it grows */
    const double lists = 33, GiB = 1073741824;
    const double bytes = count * (BYTES + sizeof(int32_t) + lists + copies * parts),
                 has = (double)memory_installed();
    return bytes <= has ||
           fail_memory(err, "counting %.0f characters takes %.1f GiB, but this machine has %.1f",
                       count, bytes / GiB, has / GiB);
}

/* ---- the sorted places ---- */

/* Memory for counting alone. */
typedef struct {
    uint32_t *places, *sorted; /* [count]: all places of the text; scratch */
    uint8_t *shared;     /* [count]: the length of the context that a place of the list shares with
                            the place above it, at most the order - 1 */
    size_t *starts;      /* [V + 2] */
    Follower *followers; /* the followers of the level that is made */
    FoldSet *folds, *of_longer; /* their folds; the folds of the longer contexts' followers */
    size_t count;               /* its followers so far */
    uint32_t *slots;            /* [V]: 1 + the last follower with this token */
    uint32_t (*parts)[FOLDS];   /* [V]: of the followers of the context that is made */
} Lists;

static void free_lists(Lists *lists) {
    memory_free(lists->places);
    memory_free(lists->sorted);
    memory_free(lists->shared);
    memory_free(lists->starts);
    memory_free(lists->followers);
    memory_free(lists->folds);
    memory_free(lists->of_longer);
    memory_free(lists->slots);
    memory_free(lists->parts);
}

/* Sorts the places by one token, and keeps the order of equal ones. */
static void sort_by(const Ngram *g, Lists *lists, int back) {
    size_t *starts = lists->starts;
    memset(starts, 0, ((size_t)g->V + 2) * sizeof *starts);
    for (size_t i = 0; i < g->count; i++) starts[before(g, i, back) + 1]++;
    for (int v = 0; v <= g->V; v++) starts[v + 1] += starts[v];
    for (size_t i = 0; i < g->count; i++)
        lists->sorted[starts[before(g, lists->places[i], back)]++] = lists->places[i];
    uint32_t *swapped = lists->places;
    lists->places = lists->sorted;
    lists->sorted = swapped;
}

/* Sorts the places by the tokens before them, the nearest first. */
static void sort_places(const Ngram *g, Lists *lists) {
    for (size_t i = 0; i < g->count; i++) lists->places[i] = (uint32_t)i;
    sort_by(g, lists, 0);
    for (int back = g->order - 1; back > 0; back--) sort_by(g, lists, back);
    for (size_t i = 0; i < g->count; i++) {
        size_t here = lists->places[i], above = i > 0 ? lists->places[i - 1] : 0;
        int shared = 0;
        while (i > 0 && shared < g->order - 1 &&
               before(g, here, shared + 1) == before(g, above, shared + 1))
            shared++;
        lists->shared[i] = (uint8_t)shared;
    }
}

/* The contexts whose first occurrence in the sorted list is place i: those of `from` to `to`
 * tokens. If `once`, the context of `to` tokens occurs only here, so longer ones need no node. */
typedef struct {
    int from, to;
    bool once;
} Begin;

static Begin begin_at(const Ngram *g, const Lists *lists, size_t i) {
    int above = lists->shared[i], below = i + 1 < g->count ? lists->shared[i + 1] : 0;
    int alone = 1 + (above > below ? above : below), longest = g->order - 1;
    return (Begin){i > 0 ? above + 1 : 0, min_int(alone, longest), alone <= longest};
}

/* Returns the highest order, at most the model's, whose tables fit, and sets contexts[k] to the
 * number of contexts of k tokens. Their followers are estimated to be as many as the contexts of k
 * + 1 tokens; only for the longest contexts is it counted. The order does not depend on the folds,
 * so that a model has the same order in training and afterwards. */
static int order_that_fits(const Ngram *g, const Lists *lists, size_t contexts[MAX_ORDER + 1]) {
    double bytes = 0;
    int order = 0;
    for (size_t i = 0; i < g->count; i++) {
        Begin begin = begin_at(g, lists, i);
        for (int k = begin.from; k <= begin.to; k++) contexts[k]++;
        bool same =
            begin.from == g->order && g->ids[lists->places[i]] == g->ids[lists->places[i - 1]];
        contexts[g->order] += !begin.once && !same;
    }
    while (order < g->order) {
        bytes += (double)(contexts[order] * sizeof(Context)) +
                 (double)(contexts[order + 1] * sizeof(Follower));
        if (order >= LEAST_ORDER && bytes > BYTES * (double)g->count) break;
        order++;
    }
    return order;
}

/* ---- the levels ---- */

/* Counts a token, in these folds, after the current context, whose first follower is `first`. */
static void add_follower(Lists *lists, size_t first, int32_t token, FoldSet folds) {
    size_t slot = lists->slots[token];
    if (slot <= first) {
        slot = lists->slots[token] = (uint32_t)++lists->count;
        lists->followers[slot - 1] = (Follower){.token = token};
        lists->folds[slot - 1] = 0;
        memset(lists->parts[slot - 1 - first], 0, sizeof *lists->parts);
    }
    lists->followers[slot - 1].count++;
    lists->folds[slot - 1] |= folds;
    for (int f = 0; f < FOLDS; f++)
        if (folds == 1 << f) lists->parts[slot - 1 - first][f]++;
}

/* Makes the memory of the parts larger or smaller. */
static bool resize_parts(Ngram *g, size_t capacity, Error *err) {
    if (capacity > INT32_MAX) return fail_long(g->count, err);
    g->part_capacity = capacity;
    return memory_resize(&g->parts, g->part_count, capacity, sizeof *g->parts, "the counts", err);
}

/* Stores the parts of a context's followers, from the first to the last. */
static bool end_context(Ngram *g, Lists *lists, size_t first, Error *err) {
    size_t most = g->part_count + (FOLDS + 1) * (lists->count - first);
    if (most > g->part_capacity && !resize_parts(g, most + most / 2, err)) return false;
    for (size_t i = first; i < lists->count; i++) {
        const uint32_t *parts = lists->parts[i - first];
        uint32_t own = 0;
        int last = 0;
        for (int f = 0; f < FOLDS; f++)
            if (parts[f] > 0) {
                own |= 1u << f;
                last = f;
            }
        if (own == 0) continue;
        if (parts[last] == lists->followers[i].count) {
            lists->followers[i].part = all_in(last);
            continue;
        }
        lists->followers[i].part = (int32_t)g->part_count;
        g->parts[g->part_count++] = own;
        for (int f = 0; f < FOLDS; f++)
            if (parts[f] > 0) g->parts[g->part_count++] = parts[f];
    }
    return true;
}

/* Moves the followers to the level, and finds its discounts. */
static bool end_level(Ngram *g, Lists *lists, Level *level, Error *err) {
    level->contexts[level->context_count].follower = (uint32_t)lists->count;
    if (!alloc(g, &level->followers, lists->count, sizeof(Follower), err)) return false;
    memcpy(level->followers, lists->followers, lists->count * sizeof(Follower));
    double N[DISCOUNTS + 2] = {0};
    N[1] = (double)level->single;
    for (size_t i = 0; i < lists->count; i++)
        if (level->followers[i].count <= DISCOUNTS + 1) N[level->followers[i].count]++;
    double Y = N[1] / (N[1] + 2 * N[2]);
    for (int i = 1; i <= DISCOUNTS; i++) {
        double found = i - (i + 1) * Y * N[i + 1] / N[i];
        /* With few counts it is a guess. A discount of 0 could leave nothing for other tokens. */
        level->discounts[i - 1] = found > 0 && found <= i ? found : 0.5 * i;
    }
    FoldSet *swapped = lists->of_longer;
    lists->of_longer = lists->folds;
    lists->folds = swapped;
    lists->count = 0;
    memset(lists->slots, 0, (size_t)g->V * sizeof *lists->slots);
    return true;
}

/* Makes the contexts of all lengths, and the followers of the longest, from the sorted places. */
static bool make_contexts(Ngram *g, Lists *lists, Error *err) {
    Level *longest = &g->levels[g->order - 1];
    size_t first = 0;
    for (size_t i = 0; i < g->count; i++) {
        const size_t place = lists->places[i];
        const Begin begin = begin_at(g, lists, i);
        if (begin.from < g->order) {
            if (!end_context(g, lists, first, err)) return false;
            first = lists->count;
        }
        for (int k = begin.from; k <= begin.to; k++) {
            Level *level = &g->levels[k];
            level->contexts[level->context_count++] =
                (Context){.token = k > 0 ? before(g, place, k) : 0,
                          .place = (uint32_t)place,
                          .child = (uint32_t)g->levels[k + 1].context_count,
                          .follower = (uint32_t)first};
        }
        if (begin.once)
            for (int k = begin.to; k < g->order; k++) g->levels[k].single++;
        else
            add_follower(lists, first, g->ids[place], folds_of(g, place));
    }
    for (int k = 0; k < g->order; k++)
        g->levels[k].contexts[g->levels[k].context_count].child =
            (uint32_t)g->levels[k + 1].context_count;
    return end_context(g, lists, first, err) && end_level(g, lists, longest, err);
}

/* Makes the followers of a level's contexts from their children's. */
static bool make_followers(Ngram *g, Lists *lists, int k, Error *err) {
    Level *level = &g->levels[k], *longer = &g->levels[k + 1];
    for (size_t i = 0; i < level->context_count; i++) {
        const size_t first = lists->count;
        const Context *child = longer->contexts + level->contexts[i].child,
                      *end = longer->contexts + level->contexts[i + 1].child;
        level->contexts[i].follower = (uint32_t)first;
        for (; child < end; child++) {
            if (child->follower == child[1].follower)
                add_follower(lists, first, g->ids[child->place], folds_of(g, child->place));
            for (uint32_t f = child->follower; f < child[1].follower; f++)
                add_follower(lists, first, longer->followers[f].token, lists->of_longer[f]);
        }
        if (!end_context(g, lists, first, err)) return false;
    }
    return end_level(g, lists, level, err);
}

/* ---- the tables of a text ---- */

static bool count_all(Ngram *g, Lists *lists, Error *err) {
    const size_t V = (size_t)g->V, n = g->count;
    if (!memory_alloc(&lists->places, n, sizeof(uint32_t), "the counts", err) ||
        !memory_alloc(&lists->sorted, n, sizeof(uint32_t), "the counts", err) ||
        !memory_alloc(&lists->shared, n, sizeof(uint8_t), "the counts", err) ||
        !memory_alloc(&lists->starts, V + 2, sizeof(size_t), "the counts", err))
        return false;
    sort_places(g, lists);
    size_t contexts[MAX_ORDER + 1] = {0};
    int order = order_that_fits(g, lists, contexts);
    if (order < g->order) {
        g->order = order;
        sort_places(g, lists);
    }
    bool ok = memory_alloc(&lists->followers, n, sizeof(Follower), "the counts", err) &&
              memory_alloc(&lists->folds, n, sizeof(FoldSet), "the counts", err) &&
              memory_alloc(&lists->of_longer, n, sizeof(FoldSet), "the counts", err) &&
              memory_alloc(&lists->slots, V, sizeof(uint32_t), "the counts", err) &&
              memory_alloc(&lists->parts, V, sizeof *lists->parts, "the counts", err) &&
              alloc(g, &g->base, (1 + FOLDS) * V, sizeof(double), err) && resize_parts(g, 1, err);
    g->part_count = 1;
    for (int k = 0; ok && k < g->order; k++)
        ok = alloc(g, &g->levels[k].contexts, contexts[k] + 1, sizeof(Context), err);
    ok = ok && make_contexts(g, lists, err);
    for (int k = g->order - 2; ok && k >= 0; k--) ok = make_followers(g, lists, k, err);
    ok = ok && resize_parts(g, g->part_count, err);
    g->size += g->part_count * sizeof *g->parts;
    for (int fold = ALL_FOLDS; ok && fold < FOLDS; fold++) {
        double *p = g->base + (size_t)(fold + 1) * V;
        double left = add_context(g, &g->levels[0], 0, fold, 1, p);
        for (size_t v = 0; v < V; v++) p[v] += left / g->V;
    }
    return ok;
}

bool ngram_count(Ngram **ngram, const int32_t *ids, size_t count, size_t fresh, int order, int V,
                 Error *err) {
    Ngram *g;
    Lists lists = {0};
    *ngram = NULL;
    assert(count > 0 && fresh <= count && order >= 1 && order <= MAX_ORDER);
    if (count > INT32_MAX) return fail_long(count, err);
    if (!check_memory((double)count, err) || !memory_alloc(&g, 1, sizeof *g, "the counts", err))
        return false;
    g->V = V;
    g->order = order;
    g->count = count;
    g->fresh = fresh;
    bool ok = alloc(g, &g->ids, count, sizeof *ids, err);
    if (ok) memcpy(g->ids, ids, count * sizeof *ids);
    ok = ok && count_all(g, &lists, err);
    free_lists(&lists);
    if (ok)
        *ngram = g;
    else
        ngram_free(g);
    return ok;
}
