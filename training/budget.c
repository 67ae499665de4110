#include "training/budget.h"

enum { TENTHS = 10, FIRST_GUESS = 1000 };

/* By the clock: the steps that the pace so far lets expect, when so many seconds are left. */
static int expected_steps(const Budget *b, const Progress *p, double left) {
    if (p->step == 0) return FIRST_GUESS < b->most_steps ? FIRST_GUESS : b->most_steps;
    double pace = p->seconds / p->step, steps = p->step + (left > pace ? left / pace : 1);
    return steps < b->most_steps ? (int)steps : b->most_steps;
}

Budget budget_open(const Settings *settings, double seconds, int most_steps, double closing,
                   const Progress *progress) {
    Budget b = {.seconds = seconds,
                .time = settings->time,
                .steps = settings->steps,
                .most_steps = most_steps,
                .eval_every = settings->eval_every,
                .closing = closing,
                .evaluated = progress->seconds,
                .patience = settings->patience};
    if (seconds > 0) b.steps = expected_steps(&b, progress, seconds - progress->seconds);
    return b;
}

bool budget_complete(const Budget *b, const Progress *p) {
    Budget then = *b;
    if (b->seconds > 0) then.steps = (int)p->given_up;
    if (p->given_up > 0 && budget_hopeless(&then, p)) return true;
    if (b->seconds <= 0) return p->step >= b->steps;
    return p->spent >= b->time || p->seconds >= b->seconds || p->step >= b->most_steps;
}

bool budget_hopeless(const Budget *b, const Progress *p) {
    const double once_is_chance = 2;
    return p->cooling <= 0 && p->stale >= once_is_chance &&
           p->step - p->lowest_step > b->patience * b->steps;
}

bool budget_stale(const Budget *b, const Progress *p) {
    Budget half = *b;
    half.patience /= 2;
    return b->patience < 1 && budget_hopeless(&half, p);
}

void budget_shorten(Budget *b, int steps) {
    if (steps < b->most_steps) b->most_steps = steps;
    if (steps < b->steps) b->steps = steps;
}

bool budget_spent(Budget *b, const Progress *p) {
    if (b->seconds <= 0) return p->step >= b->steps;
    const double soon = 0.1; /* the first steps are slow and tell nothing of the rest */
    double left = b->seconds - p->seconds;
    if (p->seconds > soon * b->seconds) left -= b->closing * b->evaluation;
    b->steps = expected_steps(b, p, left);
    return left < p->seconds / p->step || p->step >= b->most_steps;
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool spent) {
    const double rare = 20;
    if (b->seconds <= 0) return spent || p->step % b->eval_every == 0;
    double left = p->seconds / p->step * (b->steps - p->step); /* until the one at the end */
    double all = p->seconds + left, tenth = all / TENTHS, since = p->seconds - b->evaluated;
    return spent || (since >= tenth && since >= rare * b->evaluation && left >= tenth / 2);
}

void budget_expect(Budget *b, double seconds) {
    if (!b->measured) b->evaluation = seconds;
}

void budget_evaluated(Budget *b, const Progress *p, double seconds) {
    b->measured = true;
    b->evaluation = seconds;
    b->evaluated = p->seconds;
}
