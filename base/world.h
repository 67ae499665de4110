/* world.h - the processes that train together, on one machine or several. Only world_mpi.c knows
 * MPI (`make MPI=1`). In any other build world.c is used: one process, and these functions do
 * nothing.
 *
 * Collective functions must be called by every process, in the same order, from the thread that
 * called world_join. MPI reports errors of communication and ends all processes. */
#ifndef TRIL_BASE_WORLD_H
#define TRIL_BASE_WORLD_H

#include "base/error.h"

#include <stddef.h>

/* Joins the other processes, once. Before it, and after world_leave, this process is alone;
 * world_leave then does nothing. Refused: several processes were started, but they cannot
 * communicate; a second call. */
bool world_join(Error *err);
void world_leave(void);

/* Was one process started, as mpirun or a queue tells it through the environment? Its number from 0
 * there, for messages that all processes share: 0 also for one that does not know how many there
 * are, as it may be the only one. */
bool launcher_alone(void);
int launcher_number(void);

/* The number of processes, and this process's number from 0. Process 0 is the main one. */
int world_size(void);
int world_rank(void);

/* The number of processes that share this machine and its memory. */
int world_beside(void);

/* ---- collective, blocking ---- */

/* Copies `size` bytes from process 0 to the others. */
void world_broadcast(void *bytes, size_t size);

/* Sums x[count] over all processes, in place. All processes get the same bits. */
void world_allreduce(double *x, size_t count);

/* True if `ok` is true on all processes. Otherwise each gets the message of the first that
 * failed. */
bool world_agree(bool ok, Error *err);

/* ---- collective, not blocking ----
 * Do not touch x or buffer before world_wait returns. A sum adds the same terms in the same order
 * each time, but the order depends on the number of processes. (Beyond 16 processes this relies on
 * MPI, whose standard recommends it.) A buffer holds world_buffer_size floats. */

/* Begins to sum x[count] over all processes, in place, for all of them. */
void world_allreduce_begin(float *x, size_t count, float *buffer);

/* Begins to sum x[count] over all processes, in place, for process `to` only, which alone needs a
 * buffer. On the others x is then undefined. */
void world_reduce_begin(float *x, size_t count, int to, float *buffer);

/* Floats in the buffer of world_allreduce_begin (of_all) or world_reduce_begin. */
size_t world_buffer_size(size_t count, bool of_all);

/* Begins to copy x[count] from process `from` to the others. */
void world_broadcast_begin(float *x, size_t count, int from);

/* Advances the communication that has begun: some MPIs have no thread of their own for it. */
void world_progress(void);

/* Waits until all communication that has begun is done. */
void world_wait(void);

/* ---- cost ---- */

typedef struct {
    double bytes;   /* of the vectors that this process began to reduce or broadcast */
    double seconds; /* spent waiting for other processes */
} Traffic;

/* Since world_join. */
Traffic world_traffic(void);

#endif
