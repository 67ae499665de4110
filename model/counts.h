/* counts.h - the losses of closed forms, which need no training. */
#ifndef TRIL_MODEL_COUNTS_H
#define TRIL_MODEL_COUNTS_H

#include "base/error.h"
#include "library/tril.h"

/* Sets *counts, from characters and pairs of train[train_count]. `own_unigram` and `own_bigram`
 * are entropies. The losses on held_out[held_out_count] are cross-entropies under smoothed
 * frequencies: add-one for single characters, Witten-Bell (1991) for pairs and modified Kneser-Ney
 * for more, with order 7 and higher ones, as long as each lowers `own_ngram`; a text that repeats
 * itself gets a lower order, so that the tables fit. `own_ngram` predicts one token in nine, or
 * fewer. `ngram` counts only the last MOST_COUNTED tokens, because more would take minutes and
 * gigabytes. In a long held-out text it predicts evenly spaced tokens. `window` is as in
 * ngram_loss. Both texts have at least two tokens. Fails without memory. */
#ifndef MOST_COUNTED_BITS /* fewer in extras/web/targets.mk */
#define MOST_COUNTED_BITS 24
#endif
enum { MOST_COUNTED = 1 << MOST_COUNTED_BITS };
bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, int window, TrilCounts *counts, Error *err);

#endif
