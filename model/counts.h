/* counts.h - the losses of closed forms, which need no training. */
#ifndef TRIL_MODEL_COUNTS_H
#define TRIL_MODEL_COUNTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double uniform;                   /* ln V */
    double unigram, unigram_held_out; /* the entropy of the characters' frequencies */
    double bigram, bigram_held_out;   /* the entropy of a character, given the one before */
    double ngram, ngram_held_out;     /* the loss of the counted model of `order` (ngram.h) */
    int order;
} Counts;

/* Counts characters and pairs of train[train_count], in nats per token. The held-out figures are
 * cross-entropies under smoothed frequencies: add-one for single characters, Witten-Bell (1991) for
 * pairs and modified Kneser-Ney for more. Although it is measured on the counted text, `ngram` is a
 * held-out loss, too: each prediction leaves out the counts of its own tenth of the text. One place
 * in nine is predicted. `ngram` counts only the last MOST_COUNTED tokens, because more would take
 * minutes and gigabytes. In a long held-out text it predicts evenly spaced places. `newline` is as
 * in ngram_loss. Both texts have at least two tokens. Fails without memory. */
#ifndef MOST_COUNTED_BITS /* fewer in extras/web/targets.mk */
#define MOST_COUNTED_BITS 24
#endif
enum { MOST_COUNTED = 1 << MOST_COUNTED_BITS };
bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, int32_t newline, Counts *counts, Error *err);

/* Sets `order` and `ngram_held_out` of *counts and, if `own`, `ngram`. Fails without memory. */
bool count_ngram(const int32_t *train, size_t train_count, const int32_t *held_out,
                 size_t held_out_count, int V, int32_t newline, bool own, Counts *counts,
                 Error *err);

#endif
