/* schedule.h - how threads run a program, and where its arrays are. Private to model/.
 *
 * A pass is a list of phases. Consecutive instructions that compute each token by
 * itself are one phase: the tokens are cut into slices, and each thread takes its slices, one after
 * another, through all instructions of the phase. So the output of one instruction is still in the
 * cache when the next one reads it. A thread that is done with its own slices takes those that
 * slower threads have not begun. An instruction that looks across tokens is a phase of its own,
 * executed by the whole team. Threads wait for each other only where a phase reads the output of
 * other threads.
 *
 * Gradients of weights wait until the team meets anyway, at most until the end of their block.
 *
 * The time between two barriers is an epoch. Arrays that are needed in different epochs share
 * memory. An array that is needed only within a phase has rows for one slice in each thread. */
#ifndef TRIL_MODEL_ENGINE_SCHEDULE_H
#define TRIL_MODEL_ENGINE_SCHEDULE_H

#include "model/layers/program.h"

typedef struct {
    int begin, end; /* instructions */
    bool team;      /* one instruction, executed by the whole team */
    bool barrier;   /* there is a barrier before it */
    bool any;       /* any thread may take any slice: its epoch has no other phase with slices */
} Phase;

typedef enum {
    WHOLE, /* all rows, in shared memory */
    OWN    /* the rows of one slice, in each thread's own memory */
} Where;

typedef struct {
    Where where;
    size_t offset; /* floats from the start of that memory */
} Location;

typedef struct {
    Phase *phases;
    int phase_count, backward_phase; /* the first phase of the backward pass */
    Location *locations;             /* [arrays] */
    size_t shared, own;              /* floats of the shared memory, and of each thread's own */
    int barriers;                    /* of a forward pass */
} Schedule;

/* The size of the largest pass. */
typedef struct {
    size_t tokens, positions, slice; /* slice: tokens in a slice */
} Capacity;

/* An operation that computes nothing. It comes after the last gradient of a block
 * (Instruction.block) or of NO_BLOCK, and says that these can now be sent. */
extern const Operation gradients_ready;

/* Puts the gradients of weights in their places in the program's list, which must not change while
 * the schedule is used, and schedules it. schedule_close releases the schedule. Fails without
 * memory; then there is nothing to release. */
bool schedule_open(Schedule *s, Program *p, Capacity capacity, Error *err);
void schedule_close(Schedule *s);

#endif
