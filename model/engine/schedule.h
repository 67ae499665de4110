/* schedule.h - how threads execute a tape, and where its arrays are. Private to model/.
 *
 * A pass is a list of phases. Consecutive instructions that compute each token by
 * itself are one phase: the tokens are cut into slices, and each thread takes its slices, one after
 * another, through all instructions of the phase. So the output of one instruction is still in the
 * cache when the next one reads it. A thread that is done with its own slices takes those that
 * slower threads have not begun. An instruction that looks across tokens is a phase of its own,
 * executed by the whole team. Threads wait for each other at a barrier where a phase reads the
 * output of other threads, where two instructions add to the gradient of one weight, and, in a
 * shared run, where the gradients of a block are ready.
 *
 * The time between two barriers is an interval. Arrays that are needed in different intervals share
 * memory. */
#ifndef TRIL_MODEL_ENGINE_SCHEDULE_H
#define TRIL_MODEL_ENGINE_SCHEDULE_H

#include "model/layers/tape.h"

typedef struct {
    int begin, end; /* instructions */
    bool team;      /* one instruction, executed by the whole team */
    bool barrier;   /* there is a barrier before it */
    bool steals;    /* any thread may take any slice: its interval has no other phase with slices */
} Phase;

typedef struct {
    Phase *phases;
    int phase_count, backward_phase; /* the first phase of the backward pass */
    int barriers;                    /* of a forward pass */
    size_t *offsets;                 /* [arrays]: from the start of their memory, in floats */
    size_t size;                     /* of that memory, in floats */
} Schedule;

/* Schedules a tape, which is borrowed for the call, for passes of at most `tokens` tokens in
 * sequences of at most `positions`. schedule_close releases the schedule. Fails without memory;
 * then there is nothing to release. */
bool schedule_open(Schedule *s, const Tape *p, size_t tokens, size_t positions, Error *err);
void schedule_close(Schedule *s);

/* Returns the rows of a slot in arrays PER_CACHE_SLOT: whole groups of keys. */
size_t schedule_capacity(size_t positions);

/* Returns the rows of an array in such passes. */
size_t schedule_rows(const Tape *p, int array, size_t tokens, size_t positions);

#endif
