#include "training/budget.h"

enum { TENTHS = 10, FIRST_GUESS = 1000, MOST_STEPS = 1000000000 };

Budget budget_open(const Settings *settings, double seconds, double closing,
                   const Progress *progress) {
    Budget b = {.seconds = seconds,
                .closing = closing,
                .steps = settings->steps,
                .eval_every = settings->eval_every,
                .patience = settings->patience};
    if (seconds > 0) {
        b.steps = progress->step + FIRST_GUESS;
        b.evaluated = progress->seconds;
    }
    return b;
}

bool budget_complete(const Budget *b, const Progress *p) {
    if (b->seconds > 0) return p->seconds >= b->seconds || budget_same(p->ended, b->seconds);
    return p->step >= b->steps || budget_hopeless(b, p);
}

bool budget_hopeless(const Budget *b, const Progress *p) {
    return p->best_step > 0 && p->step - p->best_step > b->patience * b->steps;
}

bool budget_same(double granted, double seconds) {
    const double nearly = 0.95;
    return granted >= nearly * seconds;
}

bool budget_spent(Budget *b, const Progress *p) {
    if (b->seconds <= 0) return p->step >= b->steps;
    const double soon = 0.1; /* the first steps are slow and tell nothing of the rest */
    double pace = p->seconds / p->step, left = b->seconds - p->seconds;
    if (p->seconds > soon * b->seconds) left -= b->closing * b->evaluation;
    double steps = p->step + (left > pace ? left / pace : 1);
    b->steps = steps < MOST_STEPS ? (int)steps : MOST_STEPS;
    return left < pace || p->step >= MOST_STEPS;
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool spent) {
    const double rare = 20;
    if (b->seconds <= 0) return spent || p->step % b->eval_every == 0;
    double since = p->seconds - b->evaluated, tenth = b->seconds / TENTHS;
    double left = p->seconds / p->step * (b->steps - p->step); /* until the one at the end */
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
