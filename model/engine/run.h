/* run.h - the members of a run, for the engine's files. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_RUN_H
#define TRIL_MODEL_ENGINE_RUN_H

#include "model/engine/pace.h"
#include "model/engine/schedule.h"
#include "model/rungs/rung.h"
#include "model/model.h"

#include <stddef.h>

typedef struct Bucket Bucket;
typedef struct Profile Profile;

enum { WINDOWS_AT_ONCE = 4096 };

struct Run {
    Model *model;
    const Isa *isa;
    const Products *products;
    Team *team;
    RunOptions options;
    Program program;
    Schedule schedule;
    /* the pass under way */
    Pass pass;
    const int32_t *targets;
    const float *taught; /* run_teach; NULL: the targets are the actual tokens only */
    float taught_share;
    float scale;       /* of the gradients: 1 / the number of tokens in the loss */
    int block;         /* tokens in a block of this pass */
    int longest_block; /* the most tokens in a block of any pass: what a thread has memory for */
    atomic_int *taken; /* [steps][threads]: blocks and heads taken from each thread's share */
    bool paced;        /* one thread or several, by what `paces` measured: run_pace */
    Pace paces[2];     /* of passes of one token, and of several */
    uint64_t step;     /* updates done */
    /* activations: the three memories of schedule.h; `own` has own_size floats for each thread, one
       thread after another */
    float *activations, *own, *single;
    size_t own_size;
    Param *params; /* of each tensor */
    float *losses; /* of each token */
    double *sums;  /* [WINDOWS_AT_ONCE]: the summed losses of windows, in an evaluation */
    Memory memory;
    float *packed;          /* packed copies of weights that are right operands */
    size_t *packed_offsets; /* [tensors]: in `packed`, in floats; SIZE_MAX: not packed */
    /* in training, laid out like the weights; squares: a sum for each chunk of the gradients */
    float *gradients, *first_moments, *second_moments;
    double *squares;
    /* sequences of a shared batch: in all, and before this process's part; in a run that is not
       shared: options.batch, and 0 */
    int whole, before;
    int *owners;     /* [tensors], and the buckets (buckets.h); NULL and */
    Bucket *buckets; /* none in a run that is not shared */
    int bucket_count;
    float *buffer;    /* receives what other processes send */
    Profile *profile; /* profile.h; NULL: not measured */
};

/* How many threads, at most `max`, are useful for `work` multiply-adds with `waits` barriers: each
 * thread must work longer than it then waits. */
int run_worth(double work, int waits, int max);

/* How many threads are useful for the current or last pass. */
int run_threads(const Run *run);

/* The loss of each token [B,T] of the last forward pass against targets[B,T], in nats. The run owns
 * it. */
const float *run_losses(Run *run, const int32_t *targets);

/* A pointer to the columns of an array at token 0 of the last pass, for tests and views. Only a
 * kept array (program_keep) is complete. */
const float *run_array(const Run *run, Array array);

#endif
