/* buckets.h - what processes that share a training exchange: gradients, and the weights and moments
 * of the matrices that Muon trains. Private to model/.
 *
 * Gradients are summed over the processes in buckets. Each bucket is sent as soon as its layer's
 * gradients are ready, while the backward pass goes on (Li et al., "PyTorch Distributed", 2020).
 * Every process gets the gradients of what AdamW trains, and updates its own copy. A step of Muon
 * is expensive, so each matrix that Muon trains has one owner: only that process gets its gradient,
 * and it sends the new weights back. */
#ifndef TRIL_MODEL_ENGINE_BUCKETS_H
#define TRIL_MODEL_ENGINE_BUCKETS_H

#include "model/engine/run.h"

/* Contiguous gradients of one layer (-1: of none) and one owner (EVERYONE). */
struct Bucket {
    /* in floats; offset as in Model.weights */
    size_t offset, size;
    size_t buffer; /* where in Run.buffer it receives what other processes send */
    int layer, owner;
};

enum { EVERYONE = -1 };

/* Chooses an owner for each matrix that Muon trains, and fills the buckets. The run owns all of it;
 * buckets_close releases it. The result is the same on every process. Refused: no memory. */
bool buckets_open(Run *run, Error *err);
void buckets_close(Run *run);

/* trains: does this process update tensor i of the model? answers_for: does it count tensor i in
 * the global norm? Exactly one process counts it. */
bool trains(const Run *run, int tensor);
bool answers_for(const Run *run, int tensor);

/* Begins to sum the gradients of a layer's buckets over the processes; world_wait (base/world.h)
 * waits for the end. All processes call it in the same order, from their first thread. */
void buckets_send(const Run *run, int layer);

/* Sends each owner's part of `numbers`, which are laid out like the weights, to all other
 * processes, and waits. Collective. */
void buckets_share(const Run *run, float *numbers);

#endif
