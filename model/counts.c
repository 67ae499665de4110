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
#include <stdlib.h>
#include <string.h>

/* Counts of one text. Pairs are sorted lists, not a V x V table: with 6,000 characters, a text has
 * only a small part of the 36 million pairs. */
typedef struct {
    int V;
    size_t count;
    size_t *singles;  /* [V]; the next two follow in its memory */
    size_t *kinds;    /* [V]: d(a) */
    size_t *starts;   /* [V + 1]: where the characters that follow a begin, n(a) of them */
    int32_t *seconds; /* [count - 1]: these characters, sorted, repeated as in the text */
} Tally;

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts numbers below V; counts them if that takes less time. counts: [V], scratch, all zero. */
static void sort(int32_t *numbers, size_t count, int V, size_t *counts) {
    if (count < (size_t)V) {
        qsort(numbers, count, sizeof *numbers, compare);
        return;
    }
    for (size_t i = 0; i < count; i++) counts[numbers[i]]++;
    for (int v = 0; v < V; counts[v++] = 0)
        for (size_t i = 0; i < counts[v]; i++) *numbers++ = v;
}

static size_t followers(const Tally *tally, int32_t a) {
    return tally->starts[a + 1] - tally->starts[a];
}

static bool tally_text(Tally *tally, const int32_t *ids, size_t count, int V, Error *err) {
    const size_t pairs = count - 1;
    *tally = (Tally){.V = V, .count = count};
    if (!memory_alloc(&tally->singles, 4 * (size_t)V + 1, sizeof(size_t), "the counts", err) ||
        !memory_alloc(&tally->seconds, pairs, sizeof(int32_t), "the counts", err))
        return false;
    tally->kinds = tally->singles + V;
    tally->starts = tally->kinds + V;
    size_t *scratch = tally->starts + V + 1;
    for (size_t i = 0; i < count; i++) tally->singles[ids[i]]++;
    for (size_t i = 0; i < pairs; i++) tally->starts[ids[i] + 1]++;
    for (int v = 0; v < V; v++) scratch[v] = tally->starts[v + 1] += tally->starts[v];
    for (size_t i = pairs; i-- > 0;) tally->seconds[--scratch[ids[i]]] = ids[i + 1];
    memset(scratch, 0, (size_t)V * sizeof *scratch);
    for (int v = 0; v < V; v++) {
        int32_t *row = tally->seconds + tally->starts[v];
        sort(row, followers(tally, v), V, scratch);
        for (size_t i = 0; i < followers(tally, v); i++)
            tally->kinds[v] += i == 0 || row[i] != row[i - 1];
    }
    return true;
}

/* Returns the first place among the characters that follow a that is not below b. */
static size_t lower_bound(const Tally *tally, int32_t a, int32_t b) {
    size_t low = tally->starts[a], high = tally->starts[a + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tally->seconds[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double single_probability(const Tally *tally, int32_t b) {
    return ((double)tally->singles[b] + 1) / ((double)tally->count + tally->V);
}

static double pair_probability(const Tally *tally, int32_t a, int32_t b) {
    double seen = (double)(lower_bound(tally, a, b + 1) - lower_bound(tally, a, b));
    double kinds = (double)tally->kinds[a], single = single_probability(tally, b);
    if (kinds == 0) return single;
    return (seen + kinds * single) / ((double)followers(tally, a) + kinds);
}

/* The entropy of single characters: sum n/N ln(N/n). */
static double single_entropy(const Tally *tally) {
    double total = 0, N = (double)tally->count;
    for (int v = 0; v < tally->V; v++) {
        double n = (double)tally->singles[v];
        if (n > 0) total += n * log(N / n);
    }
    return total / N;
}

/* Returns the entropy of a character after another: sum n(a,b)/N ln(n(a)/n(a,b)). */
static double pair_entropy(const Tally *tally) {
    double total = 0;
    for (int32_t a = 0; a < tally->V; a++)
        for (size_t i = tally->starts[a], next; i < tally->starts[a + 1]; i = next) {
            next = lower_bound(tally, a, tally->seconds[i] + 1);
            double n = (double)(next - i);
            total += n * log((double)followers(tally, a) / n);
        }
    return total / (double)(tally->count - 1);
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
    Tally tally;
    const bool ok = tally_text(&tally, train, train_count, V, err);
    *counts = (TrilCounts){.uniform = log(V)};
    if (ok) counts->own_unigram = single_entropy(&tally);
    if (ok) counts->own_bigram = pair_entropy(&tally);
    const size_t every = held_out_every(train_count, held_out_count);
    size_t predicted = 0;
    for (size_t i = 1; ok && i < held_out_count; i += every, predicted++) {
        counts->unigram -= log(single_probability(&tally, held_out[i]));
        counts->bigram -= log(pair_probability(&tally, held_out[i - 1], held_out[i]));
    }
    counts->unigram /= (double)predicted;
    counts->bigram /= (double)predicted;
    memory_free(tally.singles);
    memory_free(tally.seconds);
    return ok && count_ngram(train, train_count, held_out, held_out_count, V, window, counts, err);
}
