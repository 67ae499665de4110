#include "training/budget.h"

enum { TENTHS = 10, FIRST_GUESS = 1000 };

static int tenths_of(const Budget *b, const Progress *p) {
    return (int)(TENTHS * p->seconds / b->seconds);
}

Budget budget_open(const Settings *settings, double seconds, const Progress *progress) {
    Budget b = {.seconds = seconds, .steps = settings->steps, .eval_every = settings->eval_every};
    if (seconds > 0) {
        b.steps = progress->step + FIRST_GUESS;
        b.tenths = tenths_of(&b, progress);
    }
    return b;
}

bool budget_spent(Budget *b, const Progress *p) {
    if (b->seconds <= 0) return p->step >= b->steps;
    if (p->step == 0) return false;
    double pace = p->seconds / p->step, left = b->seconds - b->closing - p->seconds;
    b->steps = p->step + (left > pace ? (int)(left / pace) : 1);
    return left < pace;
}

bool budget_evaluation_due(Budget *b, const Progress *p, bool spent) {
    if (b->seconds <= 0) return spent || p->step % b->eval_every == 0;
    int tenths = tenths_of(b, p);
    bool due = spent || tenths > b->tenths;
    b->tenths = tenths;
    return due;
}

/* What comes at the end: an evaluation, and two in float32, which may take twice as long. */
void budget_evaluated(Budget *b, double seconds) {
    b->closing = 5 * seconds;
}
