/* execute.h - the instructions of a program at work. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_EXECUTE_H
#define TRIL_MODEL_ENGINE_EXECUTE_H

#include "model/engine/buckets.h"
#include "model/engine/profile.h"
#include "model/engine/schedule.h"

/* What executes a program. Threads of a team share it and do not change it. */
typedef struct {
    const Model *model;
    const Isa *isa;
    const Products *products;
    Program program;
    Schedule schedule;
    int threads; /* the most */
    bool frozen; /* the weights were packed once */
    /* the pass under way */
    Pass pass;
    bool backward;     /* its direction */
    int slice;         /* tokens in a slice */
    int longest_slice; /* the most in any pass: a thread has memory for that */
    atomic_int *taken; /* [phases][threads]: slices and heads taken from each thread's share */
    /* activations: the three memories of schedule.h; `own` has own_size floats for each thread, one
       thread after another */
    float *activations, *own, *single;
    size_t own_size, activations_size; /* of all three */
    Param *params;                     /* [tensors] */
    float *packed;                     /* copies of weights that are right operands */
    size_t *packed_offsets;            /* [tensors]: in `packed`, in floats; SIZE_MAX: not packed */
    size_t packed_size;
    Profile *profile;       /* NULL: not measured */
    const Buckets *buckets; /* that receive gradients when they are ready; NULL: none */
} Executor;

/* Records and schedules the rung of x->model for passes of at most `tokens` tokens, in sequences of
 * at most `length`, and lays out their memory. Set before: model, isa, products, threads.
 * execute_close releases what the executor owns, also after an error: no memory, a wrong rung, too
 * large a pass. */
bool execute_plan(Executor *x, bool training, bool kept, size_t tokens, int length, Error *err);
void execute_close(Executor *x);

/* Allocates the memory that was laid out, and fills the constants. `gradients`, laid out like the
 * weights, is borrowed; NULL outside training. An error: no memory. */
bool execute_allocate(Executor *x, float *gradients, int length, Error *err);

/* The scratch that the program needs in each thread, in floats. */
size_t execute_scratch(const Executor *x, int length);

/* How many tokens a slice has: at most `most`, which is what a thread has memory for, or SLICE_MAX
 * while a run is planned. It is a whole number of stretches, and of AMX's tiles, whose edges round
 * differently. The threads have nearly equal shares, in few tiles of a product, and what a phase
 * writes is still in the cache when it is read. The length depends on the number of threads;
 * results do not depend on the length. */
enum { SLICE_MAX = 288 };
int execute_slice(const Products *products, size_t tokens, int threads, int most);

/* Begins a pass, which x->pass describes, on as many threads as are useful. */
void execute_begin(Executor *x, int threads, bool backward);

/* The work of a team (team_run) in the pass: `executor` is an Executor. */
void execute_pass(const Thread *thread, void *executor);

/* The same, only packs the weights for a forward pass. */
void execute_packing(const Thread *thread, void *executor);

/* The number of slices in the current pass. */
int execute_slices(const Executor *x);

/* `count` tokens of the batch from token `first` on. */
typedef struct {
    size_t first;
    int count;
} Slice;

/* Sets *slice to number i, from 0, of those that the thread has; false beyond its last. */
bool execute_own_slice(const Executor *x, const Thread *thread, int i, Slice *slice);

/* The columns of an array at token 0 of the last pass. Only a kept array is complete. */
float *execute_array(const Executor *x, Array array);

/* The operands of an instruction of the forward pass for `tokens` and the thread. */
Call execute_call(const Executor *x, const Thread *thread, const Instruction *at, Slice tokens);

#endif
