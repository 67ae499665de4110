#include "training/budget.h"

enum {
    TENTHS = 10,
    FIRST_GUESS = 1000,
    MOST_STEPS = 1000000000,
    CLOSING = 5 /* what comes at the end takes so many evaluations: one, and two in float32 */
};

Budget budget_open(const Settings *settings, double seconds, const Progress *progress) {
    Budget b = {.seconds = seconds, .steps = settings->steps, .eval_every = settings->eval_every};
    if (seconds > 0) {
        b.steps = progress->step + FIRST_GUESS;
        b.evaluated = progress->seconds;
    }
    return b;
}

bool budget_complete(const Budget *b, const Progress *p) {
    return b->seconds > 0 ? p->seconds >= b->seconds : p->step >= b->steps;
}

bool budget_spent(Budget *b, const Progress *p) {
    if (b->seconds <= 0) return p->step >= b->steps;
    double pace = p->seconds / p->step, left = b->seconds - CLOSING * b->evaluation - p->seconds;
    double steps = p->step + (left > pace ? left / pace : 1);
    b->steps = steps < MOST_STEPS ? (int)steps : MOST_STEPS;
    return left < pace || p->step >= MOST_STEPS;
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool spent) {
    const double rare = 20;
    if (b->seconds <= 0) return spent || p->step % b->eval_every == 0;
    double since = p->seconds - b->evaluated;
    return spent || (since >= b->seconds / TENTHS && since >= rare * b->evaluation);
}

void budget_expect(Budget *b, double seconds) {
    if (!b->measured) b->evaluation = seconds;
}

void budget_evaluated(Budget *b, const Progress *p, double seconds) {
    b->measured = true;
    b->evaluation = seconds;
    b->evaluated = p->seconds;
}
