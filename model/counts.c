/* counts.c - losses that need no training: closed forms to compare the rungs with.
 *
 * The training figures use plain frequencies. They are the lowest loss that any model of that kind
 * can have on that text. The held-out figures need smoothing for pairs that the training text
 * lacks. Single characters are counted from one, p(b) = (n(b) + 1) / (n + V). Pairs are mixed with
 * single characters, by the number d(a) of different characters that followed a: p(b|a) = (n(a,b) +
 * d(a) p(b)) / (n(a) + d(a)) (Witten and Bell, "The Zero-Frequency Problem", 1991, method C). */
#include "model/counts.h"
#include "base/array.h"
#include "base/memory.h"
#include "model/ngram.h"

#include <math.h>

/* The characters that follow each character in a text, `every` places apart. A table of V x V would
 * be too large: with 6,000 characters, a text has only a small part of the 36 million pairs. */
typedef struct {
    size_t *ends;     /* [V + 1]: those after a end at ends[a], where those after a + 1 begin */
    int32_t *seconds; /* by the character before them */
    size_t count;
} Pairs;

static bool list_pairs(Pairs *pairs, const int32_t *ids, size_t count, size_t every, int V,
                       Error *err) {
    *pairs = (Pairs){.count = ceil_div(count - 1, every)};
    if (!memory_alloc(&pairs->ends, (size_t)V + 1, sizeof(size_t), "the counts", err) ||
        !memory_alloc(&pairs->seconds, pairs->count, sizeof(int32_t), "the counts", err))
        return false;
    size_t *next = pairs->ends; /* at first, where those after a begin */
    for (size_t i = 0; i + 1 < count; i += every) next[ids[i] + 1]++;
    for (int v = 0; v < V; v++) next[v + 1] += next[v];
    for (size_t i = 0; i + 1 < count; i += every) pairs->seconds[next[ids[i]]++] = ids[i + 1];
    return true;
}

static void free_pairs(Pairs *pairs) {
    memory_free(pairs->ends);
    memory_free(pairs->seconds);
}

/* Sets the losses of single characters and of pairs of *counts, for the pairs of the training text
 * and those of the held-out text that are predicted. singles[V] has the counts of characters;
 * seen[V], all 0, is scratch: n(a,b) of one a. */
static void count_pairs(const Pairs *train, const Pairs *held_out, const size_t *singles,
                        size_t *seen, size_t count, int V, TrilCounts *counts) {
    const double N = (double)count, predicted = (double)held_out->count;
    for (int32_t a = 0; a < V; a++) {
        const size_t begin = a > 0 ? train->ends[a - 1] : 0, end = train->ends[a];
        const double followers = (double)(end - begin), n = (double)singles[a];
        double kinds = 0;
        if (n > 0) counts->own_unigram += n / N * log(N / n);
        for (size_t i = begin; i < end; i++) kinds += seen[train->seconds[i]]++ == 0;
        for (size_t i = a > 0 ? held_out->ends[a - 1] : 0; i < held_out->ends[a]; i++) {
            const int32_t b = held_out->seconds[i];
            const double single = ((double)singles[b] + 1) / (N + V);
            counts->unigram -= log(single) / predicted;
            counts->bigram -=
                log(kinds == 0 ? single
                               : ((double)seen[b] + kinds * single) / (followers + kinds)) /
                predicted;
        }
        for (size_t i = begin; i < end; i++) {
            size_t *together = &seen[train->seconds[i]];
            if (*together > 0)
                counts->own_bigram +=
                    (double)*together / (N - 1) * log(followers / (double)*together);
            *together = 0;
        }
    }
}

/* Returns how many characters of the held-out text there are for each of `most` to predict. */
static size_t held_out_every(size_t most, size_t held_out_count) {
    return 1 + (held_out_count - 1) / most;
}

enum { LONG_TEXT = 1 << 21 }; /* tokens from which not every place is predicted */

/* Sets `order`, and the losses of n-grams, of *counts: of the orders from `order` to `last`, as
 * long as each lowers `own_ngram`. */
static bool count_orders(const int32_t *train, size_t train_count, const int32_t *held_out,
                         size_t held_out_count, int V, int window, int order, int last,
                         TrilCounts *counts, Error *err) {
    enum { EVERY = 9, SCORED = 1 << 19 };
    const size_t every = EVERY * (1 + train_count / LONG_TEXT),
                 scored = held_out_every(min_size(train_count, SCORED), held_out_count);
    bool ok = true, better = true;
    counts->order = 0;
    counts->own_ngram = INFINITY;
    for (; ok && better && order <= last; order++) {
        Ngram *ngram;
        NgramLoss own = {INFINITY, INFINITY}, ahead;
        if (!ngram_count(&ngram, train, train_count, 0, order, V, err)) {
            if (counts->order == 0) return false;
            *err = (Error){0}; /* the order before, which takes less memory, stands */
            return true;
        }
        const int found = ngram_facts(ngram).order;
        if (found < order) last = found; /* a text that repeats itself has no room for more */
        ok = ngram_loss(ngram, train, train_count, window, every, true, &own, err);
        better = own.windows < counts->own_ngram;
        if (better && (ok = ngram_loss(ngram, held_out, held_out_count, window, scored, false,
                                       &ahead, err))) {
            counts->order = found;
            counts->own_ngram = own.windows;
            counts->own_running = own.running;
            counts->ngram = ahead.windows;
            counts->running = ahead.running;
        }
        ngram_free(ngram);
    }
    return ok;
}

/* The end of a long text shows which order is best, in less time. */
static bool count_ngram(const int32_t *train, size_t train_count, const int32_t *held_out,
                        size_t held_out_count, int V, int window, TrilCounts *counts, Error *err) {
    enum { ORDER = 7 };
    const size_t counted = min_size(train_count, MOST_COUNTED), some = min_size(counted, LONG_TEXT);
    if (!count_orders(train + (train_count - some), some, held_out, held_out_count, V, window,
                      ORDER, MAX_ORDER, counts, err))
        return false;
    return some == counted ||
           count_orders(train + (train_count - counted), counted, held_out, held_out_count, V,
                        window, counts->order, counts->order, counts, err);
}

bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, int window, TrilCounts *counts, Error *err) {
    Pairs known = {0}, ahead = {0};
    size_t *singles, every = held_out_every(train_count, held_out_count);
    *counts = (TrilCounts){.uniform = log(V)};
    if (!memory_alloc(&singles, 2 * (size_t)V, sizeof *singles, "the counts", err)) return false;
    const bool ok = list_pairs(&known, train, train_count, 1, V, err) &&
                    list_pairs(&ahead, held_out, held_out_count, every, V, err);
    for (size_t i = 0; i < train_count; i++) singles[train[i]]++;
    if (ok) count_pairs(&known, &ahead, singles, singles + V, train_count, V, counts);
    memory_free(singles);
    free_pairs(&known);
    free_pairs(&ahead);
    return ok && count_ngram(train, train_count, held_out, held_out_count, V, window, counts, err);
}
