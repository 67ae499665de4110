#include "model/pace.h"

/* A try of several threads costs about ten milliseconds on a busy machine. The first one waits
 * until twice that has gone by, later ones may take a twentieth of the time; and none is made where
 * one thread alone has to wait for its processor for more than a twentieth of it. */
static const double first = 0.02, again = 20, idle = 0.95;

/* One thread, before it is known, makes twenty thousand million multiply-adds a second. */
static double alone_of(const Pace *pace) {
    return pace->alone > 0 ? pace->alone : 5e-11;
}

static bool shared_is_faster(const Pace *pace) {
    return pace->shared > 0 && pace->shared < alone_of(pace);
}

/* Has enough time gone by for the slower way, or the one that is not known, to be tried? */
static bool is_due(const Pace *pace, double work) {
    if (pace->shared <= 0) return pace->gone + alone_of(pace) * work >= first;
    double slower = shared_is_faster(pace) ? alone_of(pace) : pace->shared;
    return pace->gone >= again * slower * work;
}

bool pace_shares(const Pace *pace, double work) {
    return shared_is_faster(pace) != is_due(pace, work);
}

void pace_note(Pace *pace, bool shared, double work, double seconds, double worked) {
    double *known = shared ? &pace->shared : &pace->alone, each = seconds / work;
    bool tried = shared != shared_is_faster(pace);
    pace->gone += seconds;
    pace->worked += worked;
    bool busy = pace->worked < idle * pace->gone;
    if (tried || (busy && is_due(pace, work))) pace->gone = pace->worked = 0; /* wait once more */
    /* the mean of the last few; of a try that was long ago nothing counts */
    *known = tried || *known <= 0 ? each : *known + (each - *known) / 4;
}
