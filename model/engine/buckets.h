/* buckets.h - exchanges between processes that share a training run: gradients, and the weights and
 * moments of the matrices that Muon trains. Private to model/.
 *
 * Gradients are summed over the processes in buckets. Each bucket is sent as soon as its block's
 * gradients are ready, while the backward pass continues (Li et al., "PyTorch Distributed", 2020).
 * Every process gets the gradients of the tensors that AdamW trains, and updates its own copy. A
 * step of Muon is expensive, so each matrix that Muon trains has one owner: only that process gets
 * its gradient, and it sends the new weights back. */
#ifndef TRIL_MODEL_ENGINE_BUCKETS_H
#define TRIL_MODEL_ENGINE_BUCKETS_H

#include "model/kernels/products.h"
#include "model/model.h"

typedef struct Buckets Buckets;

/* Chooses an owner for each matrix that Muon trains, and divides `gradients` into buckets; they
 * are laid out like the weights and borrowed. buckets_close releases them; NULL is allowed. The
 * result is the same on every process. Fails for more than INT_MAX weights, and without memory;
 * *buckets is then NULL. */
bool buckets_open(Buckets **buckets, const Model *model, const Products *products, float *gradients,
                  Error *err);
void buckets_close(Buckets *b);

/* Return true if this process updates that tensor of the model; if it counts the tensor in the
 * global norm, as exactly one process does. */
bool buckets_trains(const Buckets *b, int tensor);
bool buckets_measures(const Buckets *b, int tensor);

/* Returns the number of buckets. */
int buckets_number(const Buckets *b);

/* Begins to sum the gradients of the buckets of a block, or of NO_BLOCK, over the processes;
 * world_wait (base/world.h) waits for the end. All call it in the same order, from thread 0. */
void buckets_send(const Buckets *b, int block);

/* Sends each owner's part of `numbers`, which are laid out like the weights, to all other
 * processes, and waits. Collective. */
void buckets_share(const Buckets *b, float *numbers);

#endif
