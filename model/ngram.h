/* ngram.h - the counted model: the probabilities of the next token, from those that followed the
 * last few tokens in a text, with interpolated modified Kneser-Ney smoothing (Chen and Goodman, "An
 * Empirical Study of Smoothing Techniques for Language Modeling", 1999).
 *
 * Of order K it looks at the last K - 1 tokens. The counted text is cut into FOLDS equal parts, and
 * each prediction can leave one of them out. Otherwise a network that trains on the text would see
 * better predictions than it gets later, for text that was not counted (cross-fitting). */
#ifndef TRIL_MODEL_NGRAM_H
#define TRIL_MODEL_NGRAM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Ngram Ngram;

enum { MAX_ORDER = 9, FOLDS = 10, ALL_FOLDS = -1 };

/* Counts ids[count], count >= 1, 0 <= id < V, of which it keeps a copy. The folds are parts of the
 * text from `fresh` on, fresh <= count; the tokens before are never left out. fresh = count makes
 * no folds, which takes less memory. `order` is 1 to MAX_ORDER; it is reduced, but not below 3,
 * until the tables need at most about 40 bytes per token, with or without folds. ngram_free
 * releases the model; NULL is allowed. Fails for too long a text (2^31 tokens), and without memory;
 * *ngram is then NULL. */
bool ngram_count(Ngram **ngram, const int32_t *ids, size_t count, size_t fresh, int order, int V,
                 Error *err);
void ngram_free(Ngram *ngram);

typedef struct {
    const int32_t *ids; /* the counted text; the model owns it */
    size_t count;       /* its tokens */
    size_t fresh;       /* the first of them in a fold */
    int order;
    size_t bytes; /* memory of the model */
} NgramFacts;

/* Returns the facts about a model. It may be NULL if nothing was counted; all are then 0. */
NgramFacts ngram_facts(const Ngram *ngram);

/* Returns the fold of token number `place` of the fresh text, or ALL_FOLDS outside of it. */
int ngram_fold(const Ngram *ngram, size_t place);

/* Sets p[V] to the probabilities of the token after last[0]; last[-1], ..., last[1 - known] are the
 * tokens before it, and known may be 0. `fold` is left out unless it is ALL_FOLDS. Returns how many
 * of the last tokens occur together in the text, at most the order less 1. Every p is above 0. */
int ngram_predict(const Ngram *ngram, const int32_t *last, size_t known, int fold, double *p);

/* The mean loss of a text in nats: in windows, as of a rung (run_evaluate), where a prediction sees
 * nothing before its window; and of the running text, where it sees all that is before it. */
typedef struct {
    double windows, running;
} NgramLoss;

/* Sets *loss to that of a text of count >= 2 tokens, in windows of `window` tokens. Predicts one in
 * `every` of them, never the first. If `counted`, the text is the counted one, and each prediction
 * leaves out its own fold. Fails without memory. */
bool ngram_loss(const Ngram *ngram, const int32_t *ids, size_t count, int window, size_t every,
                bool counted, NgramLoss *loss, Error *err);

#endif
