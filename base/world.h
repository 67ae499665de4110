/* world.h - the processes that work together, on one machine or on many. Nothing else knows of MPI:
 * world_mpi.c is over MPI (`make MPI=1`), world.c is for the one process of any other build, where
 * all of this does nothing.
 *
 * What says that all take part is called by every process, in the same order, each from the thread
 * that called world_join. What goes wrong between them, MPI reports, and ends them all. */
#ifndef TRIL_WORLD_H
#define TRIL_WORLD_H

#include "base/error.h"

#include <stddef.h>

/* Joins the others; before it and after world_leave a process is alone. Refused: several copies of
 * the program were started together that cannot hear each other. */
bool world_join(Error *err);
void world_leave(void);

/* How many processes there are, and this one's number, from 0: the first one leads. */
int world_size(void);
int world_rank(void);

/* How many share this machine, and its memory. */
int world_beside(void);

/* ---- all take part, and wait ---- */

/* Copies `size` bytes of the first process to the others. */
void world_tell(void *bytes, size_t size);

/* Adds up each of x[count] over all processes, and each has the sums: the same bits on all. */
void world_add(double *x, size_t count);

/* Has it gone well for all? If not, each has the message of the first process that failed. */
bool world_agree(bool ok, Error *err);

/* ---- all take part, and go on with something else ----
 * x is not to be touched before world_finish returns. The same terms are added in the same order
 * each time (of more than 16 processes: if MPI does so, as its standard recommends), but not at any
 * number of processes. Sums want room, which is not to be touched either:
 * as many floats as world_room says. */

/* Begins to add up x[count] over all processes. */
void world_add_begin(float *x, size_t count, float *room);

/* The same, and only process `to`, which alone needs the room, has the sums; what the others have
 * is then undefined. */
void world_gather_begin(float *x, size_t count, int to, float *room);

/* For one of the two: of all processes, or of process `to`. */
size_t world_room(size_t count, bool of_all);

/* Begins to copy x[count] of process `from` to the others. */
void world_share_begin(float *x, size_t count, int from);

/* Lets what has begun go on for a moment: messages need a hand where no thread is kept for them. */
void world_poke(void);

/* Waits until all that has begun is done. */
void world_finish(void);

/* ---- what it costs ---- */

typedef struct {
    double bytes;   /* of the vectors that this process began to add up, gather or share */
    double seconds; /* that it waited for others */
} Traffic;

/* Since world_join. */
Traffic world_traffic(void);

#endif
