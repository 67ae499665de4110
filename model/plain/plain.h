/* plain.h - the ladder once more, slow: every rung in double precision and plain loops, one
 * sequence at a time. It is written to be read: start with plain_bigram.c. A rung is its forward
 * pass; each layer has its backward. The tests compare the fast engine with it. The programs do not
 * contain it.
 *
 * It has no dropout. It shares the names, shapes and offsets of tensors with the engine, and the
 * counted model, which has tests of its own. A missing tensor, or no memory, fails an assert. */
#ifndef TRIL_MODEL_PLAIN_PLAIN_H
#define TRIL_MODEL_PLAIN_PLAIN_H

#include "model/model.h"

/* A model's weights and their gradients in double precision. Both have
 * model->weights_size numbers, with the offsets of Model.weights. */
typedef struct {
    const Model *model; /* borrowed */
    double *weights;    /* may be changed between calls */
    double *gradients;  /* set by plain_gradients */
    struct Call *last;  /* the current sequence's (plain_layers.h) */
} Plain;

/* Returns true if the rung of that name has a plain version. */
bool plain_knows(const char *rung);

/* Copies the weights of a model, which is borrowed and whose rung plain_knows. plain_close frees
 * the copy and the gradients. */
void plain_open(Plain *p, const Model *model);
void plain_close(Plain *p);

/* Computes logits[B,T,V], the prediction after each token of ids[B,T]; T <= the model's context.
 * The caller owns both. */
void plain_logits(Plain *p, const int32_t *ids, int B, int T, double *logits);

/* Returns the mean cross-entropy of ids[B,T] against targets[B,T], in nats. */
double plain_loss(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T);

/* Sets p->gradients to the gradient of that loss in every weight. */
void plain_gradients(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T);

#endif
