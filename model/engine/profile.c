#include "model/engine/profile.h"
#include "model/engine/buckets.h"
#include "model/engine/muon.h"
#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

struct Profile {
    bool in_step;
    double tokens, pairs; /* of all passes: tokens, and pairs of tokens of which one sees the
                             other */
    double updates;
    size_t row;
    double *seconds; /* [threads][row]: of each instruction, then of each other; then the time of
                        the thread's last reading of the clock */
};

static size_t places_of(const Run *run) {
    return (size_t)run->program.count + PROFILE_OTHERS;
}

bool run_profile(Run *run, Error *err) {
    size_t row = memory_lines(places_of(run) + 1);
    profile_close(run);
    if (!memory_alloc(&run->profile, 1, sizeof *run->profile, "the profile", err)) return false;
    run->profile->row = row;
    size_t count = (size_t)run->options.threads * row;
    bool ok = memory_alloc(&run->profile->seconds, count, sizeof(double), "the profile", err);
    if (!ok) profile_close(run);
    return ok;
}

void profile_close(Run *run) {
    if (run->profile) memory_free(run->profile->seconds);
    memory_free(run->profile);
    run->profile = NULL;
}

/* ---- measuring ---- */

static bool measures(const Run *run) {
    return run->profile && run->profile->in_step;
}

void profile_pass(const Run *run, bool training) {
    Profile *p = run->profile;
    double tokens = (double)run->pass.B * run->pass.T;
    if (p) p->in_step = training;
    if (!measures(run)) return;
    p->tokens += tokens;
    p->pairs += tokens * (run->pass.T + 1) / 2;
}

void profile_updated(const Run *run) {
    if (!measures(run)) return;
    run->profile->in_step = false;
    run->profile->updates++;
}

double profile_now(const Run *run) {
    return measures(run) ? clock_seconds() : 0;
}

static double *row_of(const Run *run, int thread) {
    return run->profile->seconds + (size_t)thread * run->profile->row;
}

void profile_team(const Run *run, int threads, void (*work)(const Thread *thread, void *argument),
                  void *argument) {
    size_t last = places_of(run), waiting = (size_t)run->program.count + PROFILE_WAITING;
    double begun = profile_now(run);
    for (int t = 0; measures(run) && t < threads; t++) row_of(run, t)[last] = begun;
    team_run(run->team, threads, work, argument);
    double now = profile_now(run);
    for (int t = 0; measures(run) && t < threads; t++)
        row_of(run, t)[waiting] += (now - row_of(run, t)[last]) / threads;
}

static double note(const Run *run, const Thread *thread, size_t place, double start) {
    if (!measures(run)) return 0;
    double now = clock_seconds(), *row = row_of(run, thread->index);
    row[place] += (now - start) / thread->count;
    row[places_of(run)] = now;
    return now;
}

double profile_instruction(const Run *run, const Thread *thread, int number, double start) {
    return note(run, thread, (size_t)number, start);
}

double profile_other(const Run *run, const Thread *thread, ProfileOther other, double start) {
    return note(run, thread, (size_t)run->program.count + other, start);
}

void profile_sharing(const Run *run, double start) {
    size_t place = (size_t)run->program.count + PROFILE_SHARING;
    if (measures(run) && run->options.shared) row_of(run, 0)[place] += clock_seconds() - start;
}

/* ---- reading ---- */

/* The operations of an instruction: a multiply-add counts as two. Of attention those of the
 * unmasked half: two products forward, five backward. */
static double operations_of(const Run *run, const Instruction *at) {
    const Profile *p = run->profile;
    double in = at->inputs[0].width, out = at->outputs[0].width;
    const char *name = at->operation->name;
    if (strcmp(name, "linear_gradients") == 0) out = at->inputs[1].width;
    if (strncmp(name, "linear", 6) == 0) return 2 * p->tokens * in * out;
    if (strcmp(name, "attention") == 0) return 2 * 2 * p->pairs * in;
    if (strcmp(name, "attention_backward") == 0) return 5 * 2 * p->pairs * in;
    return 0;
}

/* Of its products. */
static double muon_operations(const Run *run) {
    double work = 0;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        if (tensor->flags & MUON && trains(run, i))
            work += muon_work(run->products, tensor->shape[0], tensor->shape[1]);
    }
    return 2 * work * run->profile->updates;
}

static double seconds_of(const Run *run, size_t place) {
    double seconds = 0;
    for (int t = 0; t < run->options.threads; t++) seconds += row_of(run, t)[place];
    return seconds;
}

/* The line of that name, a new one at the end if there is none; NULL if there is no room. */
static ProfileLine *find_line(ProfileLine *lines, int *count, int max, const char *name) {
    for (int i = 0; i < *count; i++)
        if (strcmp(lines[i].name, name) == 0) return &lines[i];
    if (*count == max) return NULL;
    lines[*count] = (ProfileLine){.name = name};
    return &lines[(*count)++];
}

int run_profile_lines(const Run *run, ProfileLine *lines, int max) {
    static const char *const others[PROFILE_OTHERS] = {[PROFILE_WAITING] = "waiting for threads",
                                                       [PROFILE_PACKING] = "packing of weights",
                                                       [PROFILE_LOSS] = "cross_entropy",
                                                       [PROFILE_NORM] = "norm of the gradient",
                                                       [PROFILE_ADAMW] = "AdamW",
                                                       [PROFILE_MUON] = "Muon",
                                                       [PROFILE_SHARING] =
                                                           "sharing between processes"};
    int count = 0;
    for (int i = 0; run->profile && i < run->program.count + PROFILE_OTHERS; i++) {
        int other = i - run->program.count;
        const Instruction *at = &run->program.list[i];
        double seconds = seconds_of(run, (size_t)i), operations = 0;
        const char *name = other < 0 ? at->operation->name : others[other];
        if (other < 0) operations = operations_of(run, at);
        if (other == PROFILE_MUON) operations = muon_operations(run);
        bool idle = seconds <= 0 || (other == PROFILE_MUON && operations <= 0);
        ProfileLine *line = idle ? NULL : find_line(lines, &count, max, name);
        if (!line) continue;
        line->seconds += seconds;
        line->operations += operations;
    }
    return count;
}
