/* buckets.h - what travels between processes that share a training: gradients to whoever uses them,
 * and what Muon made of its matrices back to all. Private to model/.
 *
 * Gradients are sent to be added up in buckets, each as soon as its layer's
 * are there, while the backward pass goes on (Li et al., "PyTorch Distributed", 2020). What AdamW
 * trains, every process gets and trains alike. A matrix that Muon trains has an owner, since there
 * is much to compute: its gradient goes to that process alone, and its weights come back. */
#ifndef TRIL_BUCKETS_H
#define TRIL_BUCKETS_H

#include "model/run.h"

/* Gradients that lie side by side, of one layer (-1: of none) and one owner (EVERYONE). */
struct Bucket {
    size_t offset, size;
    size_t room; /* where in Run.room what other processes send is received */
    int layer, owner;
};

enum { EVERYONE = -1 };

/* Gives each matrix of Muon's an owner and fills the buckets, all of which the run owns; the same
 * on every process. */
bool buckets_open(Run *run, Error *err);
void buckets_close(Run *run);

/* Does this process train tensor i of the model? Does it do so for all others? */
bool trains(const Run *run, int tensor);
bool answers_for(const Run *run, int tensor);

/* Begins to send what a layer learnt: the gradients in its buckets. All processes take part in the
 * same order, from the thread that joined them; world_finish (base/world.h) waits. */
void buckets_send(const Run *run, int layer);

/* Copies what owners have of their matrices to all others, from `numbers`, which are laid out like
 * the weights. All take part, and wait. */
void buckets_share(const Run *run, float *numbers);

#endif
