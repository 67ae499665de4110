/* profile.h - where the time of a training goes: the seconds of each line of its program, and of
 * what happens beside it (run_profile in model.h). Private to model/.
 *
 * Each thread adds to its own row, so measuring needs no locks. Without a profile nothing is
 * measured. */
#ifndef TRIL_MODEL_ENGINE_PROFILE_H
#define TRIL_MODEL_ENGINE_PROFILE_H

#include "model/engine/run.h"

/* What is no instruction. */
typedef enum {
    PROFILE_WAITING, /* for other threads: at the barriers of passes and updates, and at their ends
                      */
    PROFILE_PACKING, /* weights */
    PROFILE_LOSS,
    PROFILE_NORM, /* of the gradient */
    PROFILE_ADAMW,
    PROFILE_MUON,
    PROFILE_SHARING, /* gradients and weights, with other processes */
    PROFILE_OTHERS
} ProfileOther;

/* A forward pass begins, and Run.pass is set. If it is one for training, all is measured from here
 * to the end of the update; else nothing is. */
void profile_pass(const Run *run, bool training);
void profile_updated(const Run *run);

/* Calls team_run, and counts as waiting what each thread waited for the last one. */
void profile_team(const Run *run, int threads, void (*work)(const Thread *thread, void *argument),
                  void *argument);

/* The time now in seconds; 0 if nothing is measured. */
double profile_now(const Run *run);

/* Adds the time since `start` to instruction `number` of the thread, or to `other`. Returns the
 * time now; 0 if nothing is measured. A thread of several counts as its share of them, so that the
 * sums of all threads are elapsed seconds. */
double profile_instruction(const Run *run, const Thread *thread, int number, double start);
double profile_other(const Run *run, const Thread *thread, ProfileOther other, double start);

/* Adds the time since `start`, in which this process shared numbers with others, outside of a pass.
 */
void profile_sharing(const Run *run, double start);

void profile_close(Run *run);

#endif
