/* profile.c - measures the parts of a training step. */
#include "model/engine/inside.h"
#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

bool run_profile(Run *run, Error *err) {
    Profile *p = &run->profile;
    size_t threads = (size_t)run->options.threads;
    memory_free(p->seconds);
    *p = (Profile){.row = memory_lines((size_t)run->program.count + PROFILE_PARTS + 1)};
    return memory_alloc(&p->seconds, threads * p->row, sizeof(double), "the profile", err);
}

/* ---- measuring ---- */

/* Returns the seconds of a place of a thread. */
static double *seconds_at(const Run *run, int thread, int place) {
    return &run->profile.seconds[(size_t)thread * run->profile.row + (size_t)place];
}

static double *last_reading(const Run *run, int thread) {
    return seconds_at(run, thread, PROFILE_PARTS + run->program.count);
}

double profile_now(const Run *run) {
    return run->profile.in_step ? clock_seconds() : 0;
}

double profile_add(const Run *run, const Thread *thread, int place, double start) {
    if (!run->profile.in_step) return 0;
    double now = clock_seconds();
    int index = thread ? thread->index : 0;
    *seconds_at(run, index, place) += (now - start) / (thread ? thread->count : 1);
    *last_reading(run, index) = now;
    return now;
}

void profile_team(Run *run, int threads, void (*work)(const Thread *, void *), void *argument) {
    double now = profile_now(run);
    for (int t = 0; run->profile.in_step && t < threads; t++) *last_reading(run, t) = now;
    team_run(run->team, threads, work, argument);
    now = profile_now(run);
    for (int t = 0; run->profile.in_step && t < threads; t++)
        *seconds_at(run, t, PROFILE_WAITING) += (now - *last_reading(run, t)) / threads;
}

/* ---- reading ---- */

/* Adds the seconds of all threads at a place, if there are any, to the part of this name. Makes a
 * new part if there is none yet and there is room. */
static void add_seconds(TrilPart *parts, int *count, int max, const char *name, const Run *run,
                        int place, double work) {
    double seconds = 0;
    int i = 0;
    for (int t = 0; t < run->options.threads; t++) seconds += *seconds_at(run, t, place);
    while (i < *count && strcmp(parts[i].name, name) != 0) i++;
    if (seconds <= 0 || i == max) return;
    if (i == *count) parts[(*count)++] = (TrilPart){.name = name};
    parts[i].seconds += seconds;
    parts[i].operations += 2 * work; /* a multiply-add counts as two */
}

int run_profile_parts(const Run *run, TrilPart *parts, int max) {
    static const char *const names[PROFILE_PARTS] = {
        "waiting for threads",      "packing of weights", "norm of the gradient", "AdamW", "Muon",
        "sharing between processes"};
    const Profile *p = &run->profile;
    int count = 0;
    if (!p->seconds) return 0;
    for (int i = 0; i < run->program.count; i++) {
        const Instruction *at = &run->program.list[i];
        double work = at->operation->work ? at->operation->work(at, p->tokens, p->pairs) : 0;
        add_seconds(parts, &count, max, at->operation->name, run, PROFILE_PARTS + i, work);
    }
    for (int i = 0; i < PROFILE_PARTS; i++) {
        double work = i == PROFILE_MUON ? update_muon_work(run) * p->updates : 0;
        if (i != PROFILE_MUON || work > 0) add_seconds(parts, &count, max, names[i], run, i, work);
    }
    return count;
}
