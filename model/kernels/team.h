/* team.h - threads that compute together. Private to model/.
 *
 * The threads of a team execute the same function together; a pass over a model starts them once.
 * Each has its own Thread and computes its share of the rows, heads or channels. Before one thread
 * reads the output of another, all wait for each other at a barrier. A barrier costs well below a
 * microsecond on idle processors; on busy ones it lets other programs run. */
#ifndef TRIL_MODEL_KERNELS_TEAM_H
#define TRIL_MODEL_KERNELS_TEAM_H

#include "model/kernels/isa.h"

typedef struct Team Team;

typedef struct Products Products;

/* The context of one thread of a team. */
typedef struct {
    const Isa *isa;
    const Products *products; /* in the chosen precision */
    Team *team;
    int index, count; /* 0 <= index < count */
    /* the thread's own: packed parts of the two operands of a product, if the products accumulate;
       scratch for one instruction, or one update by Muon */
    float *left, *right, *scratch;
} Thread;

/* Returns the context of a team of this thread alone. */
static inline Thread thread_alone(const Thread *thread) {
    Thread own = *thread;
    own.index = 0;
    own.count = 1;
    return own;
}

/* Makes a team of at most `threads` >= 1 threads, each with `scratch` floats of scratch. The first
 * team_run that needs them starts them. team_close releases the team; NULL is allowed. Fails
 * without memory; *team is then NULL. */
bool team_open(Team **team, const Isa *isa, const Products *products, int threads, size_t scratch,
               Error *err);
void team_close(Team *team);

/* Returns the memory of one thread of such a team, in floats, with its packed operands. */
size_t team_scratch(const Products *products, size_t scratch);

/* Calls work(thread, argument) in the first `threads` threads of the team, the calling thread among
 * them, and returns when all have returned. 1 <= threads <= the team's. The system may give fewer:
 * Thread.count says how many there are. */
void team_run(Team *team, int threads, void (*work)(const Thread *thread, void *argument),
              void *argument);

/* Waits until all threads of the team_run have called it. Then each sees all earlier writes. */
void team_barrier(const Thread *thread);

/* Returns this thread's share, begin <= i < end, of `count` items, cut at multiples of `grain`. */
typedef struct {
    size_t begin, end;
} Share;
Share team_share(const Thread *thread, size_t count, size_t grain);

/* The items of `count` that a thread computes, one after another: its share, and then, with
 * `taken`, items that slower threads have not begun. taken[threads] counts the items taken from the
 * share of each thread, 0 at first. Any thread may then compute any item. */
typedef struct {
    const Thread *thread;
    atomic_int *taken;
    size_t count;
    int share;        /* the thread whose share it takes from */
    size_t own_taken; /* without `taken` */
} Items;
Items team_items(const Thread *thread, size_t count, atomic_int *taken);

/* Sets *item to the next one. Returns false if there are no more. */
bool team_next(Items *items, size_t *item);

/* Divides the team's work into two parts. With an even number of threads each half of them does one
 * part; otherwise all do both, one after the other. Sets *member to this thread's context among the
 * threads that do the part. Returns false if it is not one of them. A member must not wait at a
 * barrier, which counts the whole team. */
bool team_half(const Thread *thread, int part, Thread *member);

/* Returns this thread's part of a matrix of rows x columns. Each thread packs both operands of its
 * part itself; the threads form the grid in which the slowest has the least to multiply and pack.
 * Parts are cut at multiples of each side's grain, and cover the matrix once; one may be empty. */
typedef struct {
    int row, rows, column, columns;
} Part;
Part team_part(const Thread *thread, int rows, int columns, int row_grain, int column_grain);

#endif
