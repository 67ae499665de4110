/* reference.h - the ladder once more, in naive double precision and forward only: the truth that
 * the fast code is held against. It shares nothing with model/ but the names of the tensors. */
#ifndef TRIL_REFERENCE_H
#define TRIL_REFERENCE_H

#include "model/model.h"

/* The weights of a model in double precision, in the model's layout. */
typedef struct {
    const Model *model;
    double *weights;
} Reference;

/* Is there a rung of that name here? */
bool reference_knows(const char *rung);

/* Copies a model's weights; reference_close frees them. */
void reference_open(Reference *reference, const Model *model);
void reference_close(Reference *reference);

/* Fills logits[B,T,V] for ids[B,T]. */
void reference_logits(const Reference *reference, const int32_t *ids, int B, int T, double *logits);

/* The mean cross-entropy of ids[B,T] against targets[B,T], in nats. */
double reference_loss(const Reference *reference, const int32_t *ids, const int32_t *targets, int B,
                      int T);

#endif
