#include "programs/train/budget.h"
#include "base/array.h"

#include <math.h>

enum { EVALUATIONS = 10, FIRST_GUESS = 1000 };

/* Estimates the number of all steps from the speed so far, with `left` seconds left. */
static int expected_steps(const Budget *b, const Progress *p, double left) {
    if (p->now.step == 0) return min_int(FIRST_GUESS, b->max_steps);
    double step = p->seconds / p->now.step, steps = p->now.step + (left > step ? left / step : 1);
    return steps < b->max_steps ? (int)steps : b->max_steps;
}

Budget budget_open(const Plan *plan, const RungFiles *rung, double seconds, const Progress *p) {
    /* a resumed training run may have measured its best weights before, but not kept the loss */
    bool known = !plan_is_bf16(plan) && p->now.step == 0;
    const double any = 1e9, epochs = plan->options.epochs;
    double most =
        epochs > 0 ? epochs * (double)plan->input.trained_on / plan_step_characters(plan) : any;
    if (rung->baseline) most = BASELINE_STEPS;
    Budget b = {.by_time = plan_has_time(plan),
                .seconds = seconds,
                .time = plan_time(plan),
                .steps = (int)plan->options.steps,
                .max_steps = (int)fmax(1, fmin(most, any)),
                .eval_every = (int)plan->options.eval_every,
                .expected = plan_evaluation(plan),
                .last_evaluation = p->seconds,
                .closing = plan_closing(plan, known),
                .patience = plan->options.patience};
    if (b.by_time) b.steps = expected_steps(&b, p, seconds - p->seconds);
    if (p->now.cooling > 0) budget_limit_steps(&b, p->now.cooled);
    return b;
}

/* Returns true if `steps` times `patience` steps have brought no lower loss. */
static bool is_stale(const Progress *p, double patience, double steps) {
    const int not_chance = 2; /* evaluations: one worse loss can be chance */
    return p->now.cooling <= 0 && p->now.since_lowest >= not_chance &&
           p->now.step - p->now.lowest_step > patience * steps;
}

bool budget_complete(const Budget *b, const Progress *p) {
    if (p->early_stop > 0 && is_stale(p, b->patience, b->by_time ? p->early_stop : b->steps))
        return true;
    if (!b->by_time) return p->now.step >= b->steps;
    return p->time_limit >= b->time || p->seconds >= b->seconds || p->now.step >= b->max_steps;
}

bool budget_early_stop(const Budget *b, const Progress *p) {
    return is_stale(p, b->patience, b->steps);
}

bool budget_early_decay(const Budget *b, const Progress *p) {
    return b->patience < 1 && is_stale(p, b->patience / 2, b->steps);
}

void budget_limit_steps(Budget *b, int steps) {
    if (steps < b->max_steps) b->max_steps = steps;
    if (steps < b->steps) b->steps = steps;
}

bool budget_used(Budget *b, const Progress *p) {
    const double soon = 0.1; /* the first steps are slow and say nothing about the rest */
    if (!b->measured) b->evaluation = b->expected * p->now.seconds / p->now.step;
    if (!b->by_time) return p->now.step >= b->steps;
    double left = b->seconds - p->seconds;
    if (p->seconds > soon * b->seconds) left -= b->closing * b->evaluation;
    b->steps = expected_steps(b, p, left);
    return left < p->seconds / p->now.step || p->now.step >= b->max_steps;
}

bool budget_nearly_used(Budget *b, const Progress *p, bool used) {
    const double few = used ? 0.1 : 0.02;
    return b->by_time && (budget_used(b, p) || b->steps - p->now.step < fmax(2, few * b->steps));
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool used) {
    const double rare = 20, soon = 0.25; /* of the steps between evaluations */
    const int few = b->eval_every > 1 ? 2 : 1;
    /* under a time limit the steps left may have been overestimated at the last evaluation */
    if (used) return !b->by_time || isnan(p->now.lowest) || p->now.recent_steps >= few;
    if (!b->by_time)
        return p->now.step % b->eval_every == 0 &&
               b->steps - p->now.step >= fmax(few, soon * b->eval_every);
    double left = p->seconds / p->now.step * (b->steps - p->now.step);
    double part = (p->seconds + left) / EVALUATIONS, since = p->seconds - b->last_evaluation;
    /* on a busy machine, one step may take longer than a part */
    return p->now.recent_steps >= few && since >= part && since >= rare * b->evaluation &&
           left >= part / 2;
}

void budget_evaluated(Budget *b, const Progress *p, double seconds) {
    b->measured = true;
    b->evaluation = seconds;
    b->last_evaluation = p->seconds;
}
