/* counts.h - the losses of closed forms, which need no training. */
#ifndef TRIL_MODEL_COUNTS_H
#define TRIL_MODEL_COUNTS_H

#include "base/error.h"
#include "library/tril.h"

/* Sets *counts, from characters and pairs of train[train_count]. `own_unigram` and `own_bigram` are
 * entropies. The losses on held_out[held_out_count] are cross-entropies under smoothed frequencies:
 * add-one for single characters, Witten-Bell (1991) for pairs and modified Kneser-Ney for more.
 * `own_ngram` predicts one place in nine, or fewer. `ngram` counts only the last MOST_COUNTED
 * tokens, because more would take minutes and gigabytes. In a long held-out text it predicts evenly
 * spaced places. `newline` and `window` are as in ngram_loss. Both texts have at least two tokens.
 * Fails without memory. */
#ifndef MOST_COUNTED_BITS /* fewer in extras/web/targets.mk */
#define MOST_COUNTED_BITS 24
#endif
enum { MOST_COUNTED = 1 << MOST_COUNTED_BITS };
bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, int32_t newline, int window, TrilCounts *counts,
                  Error *err);

/* Sets `order`, and the losses of n-grams, of *counts, counted with `order`, which is 1 to
 * MAX_ORDER. BEST_ORDER tries 7 and more, on the end of a long text, as long as each order lowers
 * `own_ngram`. A text that repeats itself gets a lower order, so that the tables fit. Fails without
 * memory. */
enum { BEST_ORDER = 0 };
bool count_ngram(const int32_t *train, size_t train_count, const int32_t *held_out,
                 size_t held_out_count, int V, int32_t newline, int window, int order,
                 TrilCounts *counts, Error *err);

#endif
