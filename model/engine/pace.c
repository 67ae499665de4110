#include "model/engine/pace.h"

#include <math.h>

/* Trying several threads costs about ten milliseconds on a busy machine. `first`: seconds before
 * the first try, twice that cost. `again`: later tries may take a hundredth of the time. `longest`:
 * seconds after which the slower way is tried in any case, unless that takes more than a twentieth
 * of the time (`often`). `idle`: no try while one thread alone has its processor for less than this
 * share of the time. */
static const double first = 0.02, again = 100, longest = 5, often = 20, idle = 0.95;

/* Returns the seconds per multiply-add of one thread; before the first measurement, a guess. */
static double alone_of(const Pace *pace) {
    return pace->alone > 0 ? pace->alone : 5e-11;
}

static bool shared_is_faster(const Pace *pace) {
    return pace->shared > 0 && pace->shared < alone_of(pace);
}

/* Returns true if enough time has passed to try the slower way, or the unknown one. */
static bool is_due(const Pace *pace, double work) {
    if (pace->shared <= 0) return pace->elapsed + alone_of(pace) * work >= first;
    double cost = work * (shared_is_faster(pace) ? alone_of(pace) : pace->shared);
    return pace->elapsed >= fmin(again * cost, fmax(longest, often * cost));
}

bool pace_shares(const Pace *pace, double work) {
    return shared_is_faster(pace) != is_due(pace, work);
}

void pace_note(Pace *pace, bool shared, double work, double seconds, double worked) {
    double *known = shared ? &pace->shared : &pace->alone, each = seconds / work;
    bool tried = shared != shared_is_faster(pace);
    pace->elapsed += seconds;
    pace->worked += worked;
    bool busy = pace->worked < idle * pace->elapsed;
    if (tried || (busy && is_due(pace, work)))
        pace->elapsed = pace->worked = 0; /* begin to wait again */
    /* a moving average; after a try, the new value alone, because the old one is out of date */
    *known = tried || *known <= 0 ? each : *known + (each - *known) / 4;
}
