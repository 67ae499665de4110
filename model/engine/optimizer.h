/* optimizer.h - the gradients and moments of a training run, and their updates. Private to model/.
 */
#ifndef TRIL_MODEL_ENGINE_OPTIMIZER_H
#define TRIL_MODEL_ENGINE_OPTIMIZER_H

#include "model/engine/buckets.h"
#include "model/engine/profile.h"
#include "model/run.h"

/* All but the squares are laid out like the weights. */
typedef struct {
    Model *model;
    const Products *products;
    float *gradients, *first, *second; /* the moments */
    double *squares;                   /* a sum for each chunk of the gradients */
    uint64_t step;                     /* updates done */
    Buckets *buckets;                  /* NULL: one process */
} Moments;

/* Allocates gradients and moments, all 0, and, if `shared`, the buckets. moments_close releases
 * them. An error: no memory; moments_close is then still to be called. */
bool moments_open(Moments *m, Model *model, const Products *products, bool shared, Error *err);
void moments_close(Moments *m);

/* The scratch that an update needs in each thread, in floats, and Muon's multiply-adds in it. */
size_t moments_scratch(const Model *model, const Isa *isa, const Products *products);
double moments_muon_work(const Moments *m);

/* run_update, once all gradients are summed, and before the weights are shared. */
double moments_update(Moments *m, Team *team, int threads, const Optimizer *optimizer,
                      Profile *profile);

#endif
