/* inside.h - the members of a run, and how they are executed, measured and updated. Private to
 * model/; tests and benchmarks look inside, too. */
#ifndef TRIL_MODEL_ENGINE_INSIDE_H
#define TRIL_MODEL_ENGINE_INSIDE_H

#include "model/engine/buckets.h"
#include "model/engine/pace.h"
#include "model/engine/schedule.h"
#include "model/run.h"

/* Times of the parts of training steps, as its first thread sees them. */
typedef struct {
    double *seconds;      /* [instructions + 1]: the last is the optimizer. Only if measured */
    bool in_step;         /* true from the forward pass of training to the end of its update */
    double tokens, pairs; /* sums over steps; a pair is two tokens of which one sees the other */
} Profile;

/* Kinds of work that are timed apart: passes alone, and steps of training. */
enum { PACE_PASS, PACE_STEP, PACES };

#define NOT_PACKED SIZE_MAX

enum { WINDOWS_AT_ONCE = 4096 };

/* The threads of the team use one run; each writes only its own rows and its own Share. */
struct Run {
    RunOptions options; /* batch: the part of this process; shared: with other processes */
    Model *model;
    const Isa *isa;
    const Products *products;
    Tape tape;
    Schedule schedule;
    Team *team;
    RunMemory memory;
    /* the current pass, or the last one */
    Pass pass;
    bool in_backward;       /* the direction of the pass */
    int threads;            /* of the pass */
    int slice;              /* tokens in a slice */
    atomic_int *taken;      /* [phases][threads]: slices and heads taken from each thread's share */
    float *activations;     /* where the schedule says */
    Param *params;          /* [tensors] */
    float *packed;          /* copies of weights that are right operands */
    size_t *packed_offsets; /* [tensors]: in `packed`, in floats, or NOT_PACKED */
    size_t packed_size;
    Call *calls;   /* [instructions]: with the operands from token 0 on */
    float *losses; /* [tokens] */
    double *sums;  /* [WINDOWS_AT_ONCE]: the summed losses of windows, in an evaluation */
    /* in training, laid out like the weights: gradients, and their moments */
    float *gradients, *first, *second;
    double *squares; /* a sum for each chunk of the gradients */
    uint64_t step;   /* updates done */
    /* sequences of a shared batch: `whole` in all, `before` of them before this process's part. If
       it is not shared, the batch and 0 */
    int whole, before;
    Buckets *buckets;    /* with several processes */
    float counts_weight; /* factor of the counted logits; 1 in training */
    bool paced;          /* run_pace */
    Pace paces[PACES];
    Pace *pace;           /* measurements for the current pass or step, if it is timed */
    bool alone;           /* one thread makes the pass, which was faster lately */
    double begun, worked; /* clock_seconds() and clock_worked() when the pass began */
    Profile profile;
};

/* Returns the most tokens in a pass. */
size_t run_tokens(const Run *run);

/* Returns the number of threads, at most `max`, that is useful for `work` multiply-adds with
 * `waits` barriers: each thread must work longer than it then waits. */
int useful_threads(double work, int waits, int max);

/* Notes how long the current pass or step took. */
void run_note_pace(Run *run);

/* Does the same as run_forward, for tokens at a known place of a text. */
const float *run_forward_at(Run *run, const int32_t *ids, int B, int T, const TextOrigin *source);

/* ---- record.c ---- */

/* Records the rung's forward and, in training, its backward in the tape `p`; the gradient of the
 * loss begins the backward. The tape borrows the model and does not read its weights. tape_close
 * releases the tape. Fails without memory and for a wrong rung; then there is nothing to release.
 */
bool tape_record_rung(Tape *p, const Model *model, const RunOptions *options, Error *err);

/* ---- layout.c ---- */

/* Records and schedules the rung of a run whose options, model, isa and products are set, and lays
 * out its memory. Fails without memory, for a wrong rung, and for too large a pass. */
bool layout_plan(Run *run, Error *err);

/* Allocates the memory that was laid out, and fills the constants. Fails without memory. */
bool layout_allocate(Run *run, Error *err);

/* Returns the scratch that the tape needs in each thread, in floats. */
size_t layout_scratch(const Run *run);

/* Returns the columns of an array at token 0 of the last pass. Only a kept array is complete. */
float *layout_array(const Run *run, Array array);

/* ---- execute.c ---- */

/* Returns the length of a slice in tokens: the longest with which the slowest thread has the fewest
 * tiles of a product. It is at most SLICE_MAX, so that the arrays of a phase stay in the cache
 * until they are read. It is a multiple of STRETCH, and of AMX's tiles, because products at their
 * edges round differently. It depends on the number of threads; results do not depend on it. */
enum { SLICE_MAX = 288 };
int slice_length(const Products *products, size_t tokens, int threads);

/* Return the number of slices in the current pass, and the thread's own share of the tokens. */
int slice_count(const Run *run);
Share share_of_tokens(const Run *run, const Thread *thread);

/* execute_pass executes the forward or backward pass that run->pass describes, with run->threads
 * threads. execute_packing packs the weights for it, as the work of a team (team_run); `run` is a
 * Run. */
void execute_pass(Run *run, bool backward);
void execute_packing(const Thread *thread, void *run);

/* ---- optimizer.c ---- */

/* Allocates gradients and moments, all 0, and, if the run is shared, the buckets. update_close
 * releases them, even after a failure. Fails without memory. */
bool update_open(Run *run, Error *err);
void update_close(Run *run);

/* Returns an update's scratch in each thread, in floats. */
size_t update_scratch(const Run *run);

/* ---- profile.c ---- */

/* Returns the time in seconds, while a step is measured. */
double profile_now(const Run *run);

/* Adds the time since `start` to a part of the profile, on the first thread. Returns the time now.
 */
double profile_add(const Run *run, const Thread *thread, int part, double start);

#endif
