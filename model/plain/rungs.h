/* rungs.h - the rungs of the plain ladder, lowest first.
 *
 * A rung takes one sequence, ids[T], and returns the logits (T, V), which belong to p (memory.h).
 * If targets[T] is not NULL, it also adds the gradient of the mean cross-entropy of these T
 * predictions to the gradients of the weights.
 *
 * Each rung reads from top to bottom: its weights, the forward pass, the backward pass. */
#ifndef TRIL_MODEL_PLAIN_RUNGS_H
#define TRIL_MODEL_PLAIN_RUNGS_H

#include "model/plain/memory.h"

typedef Array PlainRung(Plain *p, const int32_t *ids, const int32_t *targets, int T);

PlainRung plain_bigram, plain_average, plain_head, plain_multihead, plain_gpt, plain_modern,
    plain_conv, plain_ngram;

#endif
