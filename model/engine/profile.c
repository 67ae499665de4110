#include "model/engine/profile.h"
#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

struct Profile {
    bool in_step;
    int threads, instructions;
    double tokens, pairs; /* of all passes: tokens, and pairs of tokens of which one sees the
                             other */
    double updates;
    size_t row;
    double *seconds; /* [threads][row]: of each instruction, then of the others; then the time of
                        the thread's last reading of the clock */
};

bool profile_open(Profile **profile, int threads, int instructions, Error *err) {
    Profile *p;
    *profile = NULL;
    if (!memory_alloc(&p, 1, sizeof *p, "the profile", err)) return false;
    p->threads = threads;
    p->instructions = instructions;
    p->row = memory_lines((size_t)instructions + PROFILE_OTHERS + 1);
    if (!memory_alloc(&p->seconds, (size_t)threads * p->row, sizeof(double), "the profile", err)) {
        memory_free(p);
        return false;
    }
    *profile = p;
    return true;
}

void profile_close(Profile *p) {
    if (p) memory_free(p->seconds);
    memory_free(p);
}

/* ---- measuring ---- */

static bool measures(const Profile *p) {
    return p && p->in_step;
}

/* The seconds of a place of a thread; at PROFILE_OTHERS, its last reading of the clock. */
static double *seconds_at(const Profile *p, int thread, int place) {
    int column = place >= 0 ? place : p->instructions - 1 - place;
    return &p->seconds[(size_t)thread * p->row + (size_t)column];
}

static double *last_reading(const Profile *p, int thread) {
    return seconds_at(p, thread, -1 - PROFILE_OTHERS);
}

void profile_pass(Profile *p, bool training, int B, int T) {
    double tokens = (double)B * T;
    if (p) p->in_step = training;
    if (!measures(p)) return;
    p->tokens += tokens;
    p->pairs += tokens * (T + 1) / 2;
}

void profile_updated(Profile *p) {
    if (!measures(p)) return;
    p->in_step = false;
    p->updates++;
}

double profile_now(const Profile *p) {
    return measures(p) ? clock_seconds() : 0;
}

double profile_add(Profile *p, const Thread *thread, int place, double start) {
    if (!measures(p)) return 0;
    double now = clock_seconds();
    *seconds_at(p, thread->index, place) += (now - start) / thread->count;
    *last_reading(p, thread->index) = now;
    return now;
}

void profile_sharing(Profile *p, double start) {
    if (measures(p)) *seconds_at(p, 0, PROFILE_SHARING) += clock_seconds() - start;
}

void profile_begin(Profile *p, int threads) {
    double now = profile_now(p);
    for (int t = 0; measures(p) && t < threads; t++) *last_reading(p, t) = now;
}

void profile_end(Profile *p, int threads) {
    double now = profile_now(p);
    for (int t = 0; measures(p) && t < threads; t++)
        *seconds_at(p, t, PROFILE_WAITING) += (now - *last_reading(p, t)) / threads;
}

/* ---- reading ---- */

/* The line of that name, a new one at the end if there is none; NULL if there is no room. */
static ProfileLine *find_line(ProfileLine *lines, int *count, int max, const char *name) {
    for (int i = 0; i < *count; i++)
        if (strcmp(lines[i].name, name) == 0) return &lines[i];
    if (*count == max) return NULL;
    lines[*count] = (ProfileLine){.name = name};
    return &lines[(*count)++];
}

int profile_lines(const Profile *p, const Program *program, double muon_work, ProfileLine *lines,
                  int max) {
    static const char *const others[PROFILE_OTHERS] = {"waiting for threads",
                                                       "packing of weights",
                                                       "cross_entropy",
                                                       "norm of the gradient",
                                                       "AdamW",
                                                       "Muon",
                                                       "sharing between processes"};
    int count = 0;
    for (int i = 0; p && i < p->instructions + PROFILE_OTHERS; i++) {
        int other = i - p->instructions;
        const Operation *operation = other < 0 ? program->list[i].operation : NULL;
        double seconds = 0, work = 0;
        for (int t = 0; t < p->threads; t++)
            seconds += *seconds_at(p, t, other < 0 ? i : -1 - other);
        if (operation && operation->work)
            work = operation->work(&program->list[i], p->tokens, p->pairs);
        if (other == -1 - PROFILE_MUON) work = muon_work * p->updates;
        bool idle = seconds <= 0 || (other == -1 - PROFILE_MUON && work <= 0);
        ProfileLine *line =
            idle ? NULL
                 : find_line(lines, &count, max, operation ? operation->name : others[other]);
        if (!line) continue;
        line->seconds += seconds;
        line->operations += 2 * work; /* a multiply-add counts as two */
    }
    return count;
}
