/* world.h - the processes that train together: with `make MPI=1` those that mpirun started
 * (extras/mpi/world_mpi.c), else this one alone (world.c), for which these functions do nothing.
 *
 * Every process runs the same program on the same text with the same options, and computes its part
 * of each batch. So all call the collective functions in the same order, from the thread that
 * called world_join. What they cannot all know, such as the time or a signal, they ask the first
 * process (world_first). It alone prints, and it alone writes files (file.h). A process that fails
 * prints why, and ends all. */
#ifndef TRIL_BASE_WORLD_H
#define TRIL_BASE_WORLD_H

#include "base/clock.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Joins the other processes, once. From then on only the first has standard input and output. */
bool world_join(Error *err);

/* Prepares the message of a failure that will end this process. Usually all processes fail alike,
 * and the first one's message is enough; so every other process first waits for that one to end
 * them all, and then adds its own rank to the message. */
void world_blame(Error *err);

/* Leaves the others at the end of the program, or ends them if this process's exit status is not
 * EXIT_SUCCESS. */
void world_leave(int status);

/* Return the number of processes, and this process's rank, from 0. */
int world_size(void);
int world_rank(void);

/* Returns the number of processes that share this machine and its memory. */
int world_beside(void);

/* ---- collective, blocking ---- */

/* Copies `size` bytes from the first process to the others. */
void world_broadcast(void *bytes, size_t size);

/* Sums x[count] over all processes, in place; `count` fits an int. All get the same bits. */
void world_allreduce(double *x, size_t count);

/* Returns true if `ok` is true on all processes. Else each gets the first failure's message. */
bool world_agree(bool ok, Error *err);

/* Returns true if all processes have the first one's value. Else the message is `fault`, after the
 * number of the process. */
static inline bool world_same(uint64_t value, const char *fault, Error *err) {
    uint64_t first = value;
    world_broadcast(&first, sizeof first);
    return world_agree(value == first || fail(err, "%s", fault), err);
}

/* Returns the first process's decision. */
static inline bool world_first(bool value) {
    world_broadcast(&value, sizeof value);
    return value;
}

/* Returns clock_seconds() of the first process, for decisions that all take. */
static inline double world_seconds(void) {
    double now = clock_seconds();
    world_broadcast(&now, sizeof now);
    return now;
}

/* ---- collective, not blocking ----
 * Do not touch x or buffer before world_wait returns. */

enum { ALL_PROCESSES = -1 };

/* Begins to sum x[count] over all processes, in place, for process `to` or for ALL_PROCESSES. On
 * others x is then undefined. The terms are added in the order of the ranks. `count` fits an int.
 * `buffer` holds world_buffer_size floats, 0 on a process that needs none. */
void world_sum_begin(float *x, size_t count, int to, float *buffer);
size_t world_buffer_size(size_t count, int to);

/* Begins to copy x[count], which fits an int, from process `from` to the others. */
void world_broadcast_begin(float *x, size_t count, int from);

/* Advances the operations that have begun: some MPIs have no thread of their own for it. */
void world_progress(void);

/* Waits until these operations are done. */
void world_wait(void);

/* The cost since world_join. */
typedef struct {
    double bytes;   /* size of the vectors that this process began to sum or broadcast */
    double seconds; /* spent waiting for other processes */
} Traffic;
Traffic world_traffic(void);

#endif
