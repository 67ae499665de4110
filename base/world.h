/* world.h - the processes that train together, on one machine or several: over MPI with `make
 * MPI=1` (extras/mpi/world_mpi.c), else one process (world.c), for which these functions do
 * nothing.
 *
 * Collective functions must be called by every process, in the same order, from the thread that
 * called world_join. MPI reports errors of communication and ends all processes. */
#ifndef TRIL_BASE_WORLD_H
#define TRIL_BASE_WORLD_H

#include "base/error.h"

#include <stddef.h>

/* Joins the other processes, once. Sets *number to this process's rank, even on failure. A process
 * that cannot reach the others gets 0, so it reports its own error. Before this call, and after
 * world_leave, this process is alone. Fails if several processes were started but cannot
 * communicate, and on a second call. */
bool world_join(int *number, Error *err);

/* Leaves the others. If it could not reach them, it ends them, since they may wait for it. */
void world_leave(void);

/* Returns true if, by the environment, mpirun or a batch queue started only this process. */
bool launcher_alone(void);

/* Ends all processes that the launcher started, after this one has said why. */
void launcher_end(void);

/* Return the number of processes, and this process's rank, from 0. */
int world_size(void);
int world_rank(void);

/* Returns the number of processes that share this machine and its memory. */
int world_beside(void);

/* ---- collective, blocking ---- */

/* Copies `size` bytes from process 0 to the others. */
void world_broadcast(void *bytes, size_t size);

/* Sums x[count] over all processes, in place. All processes get the same bits. */
void world_allreduce(double *x, size_t count);

/* Returns true if `ok` is true on all processes. Else each gets the first failure's message. */
bool world_agree(bool ok, Error *err);

/* ---- collective, not blocking ----
 * Do not touch x or buffer before world_wait returns. */

enum { EVERYONE = -1 };

/* Begins to sum x[count] over all processes, in place, for process `to` or for EVERYONE. On others
 * x is then undefined. The order in which the terms are added is the same in every call, and
 * depends on the number of processes. (Beyond 16 processes this relies on MPI, whose standard
 * recommends it.) `buffer` holds world_buffer_size floats, 0 on a process that needs none. */
void world_sum_begin(float *x, size_t count, int to, float *buffer);
size_t world_buffer_size(size_t count, int to);

/* Begins to copy x[count] from process `from` to the others. */
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
