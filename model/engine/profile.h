/* profile.h - where the time of a training goes: the seconds of each instruction, and of what
 * happens beside them (run_profile in run.h). Private to model/.
 *
 * Each thread adds to its own row, so measuring needs no locks. All functions but profile_open
 * allow NULL, and then measure nothing. */
#ifndef TRIL_MODEL_ENGINE_PROFILE_H
#define TRIL_MODEL_ENGINE_PROFILE_H

#include "model/kernels/products.h"
#include "model/layers/program.h"
#include "model/run.h"

typedef struct Profile Profile;

/* What is measured beside the instructions, whose places are 0 and above. */
enum {
    PROFILE_WAITING =
        -1, /* for other threads: at barriers, and at the ends of passes and updates */
    PROFILE_PACKING = -2, /* weights */
    PROFILE_LOSS = -3,
    PROFILE_NORM = -4, /* of the gradient */
    PROFILE_ADAMW = -5,
    PROFILE_MUON = -6,
    PROFILE_SHARING = -7, /* gradients and weights, with other processes */
    PROFILE_OTHERS = 7
};

bool profile_open(Profile **profile, int threads, int instructions, Error *err);
void profile_close(Profile *p);

/* Begins a forward pass of B x T tokens. In training all is measured from here to the end of the
 * update; else nothing is. */
void profile_pass(Profile *p, bool training, int B, int T);
void profile_updated(Profile *p);

/* The time now in seconds; 0 if nothing is measured. */
double profile_now(const Profile *p);

/* Adds the time since `start` to a place of the thread. Returns the time now. A thread of several
 * counts as its share of them, so that the sums of all threads are elapsed seconds. */
double profile_add(Profile *p, const Thread *thread, int place, double start);

/* The same outside of a pass, where this process shared numbers with others. */
void profile_sharing(Profile *p, double start);

/* Around a team_run of `threads` threads: counts as waiting what each waited for the last one. */
void profile_begin(Profile *p, int threads);
void profile_end(Profile *p, int threads);

/* run_profile_lines (run.h). muon_work: the multiply-adds of Muon in an update. */
int profile_lines(const Profile *p, const Program *program, double muon_work, ProfileLine *lines,
                  int max);

#endif
