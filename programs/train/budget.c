#include "programs/train/budget.h"
#include "base/array.h"

#include <math.h>

static const double RARE = 20; /* training between two evaluations takes as many times as long */

/* Returns the measured seconds of a step, the mean over all windows, if the time of a step with
 * whole ones is `slower` times that of one with the shortest. */
static double step_seconds(const Plan *plan, const RungPlan *rung, double slower) {
    enum { PARTS = 100 };
    const TrilOptions options = plan_options(plan, rung);
    return plan_step_characters(plan) / rung->pace.speed / slower *
           tril_steps_taken(&options, slower, 1.0 / PARTS) * PARTS;
}

double budget_share(const Plan *plan, int i, double left) {
    const double most = 0.1; /* the largest share of a baseline, which needs few steps */
    double all = 0, own = 0;
    if (plan->rungs[i].baseline) return most * left;
    for (int j = plan->rung_count - 1; j >= i; j--) {
        const RungPlan *rung = &plan->rungs[j];
        if (rung->left_out) continue;
        const double slower = plan_windows_grow(plan, rung) ? rung->pace.slower : 1;
        own = rung->pace.speed > 0 ? step_seconds(plan, rung, slower) : 1;
        all += own;
    }
    return left * own / all;
}

/* Returns the part of `left` seconds that remains for steps: without the work after the last one,
 * and without the evaluations before it. */
static double for_steps(const Budget *b, double left) {
    const double between = fmax(b->seconds / TRIL_EVALUATIONS, RARE * b->evaluation);
    left -= b->closing * b->evaluation + 2 * b->opening;
    return left - fmin(TRIL_EVALUATIONS - 1, floor(fmax(0, left) / (between + b->evaluation))) *
                      b->evaluation;
}

/* Returns the seconds that the steps so far took. */
static double stepping(const Budget *b, const Progress *p) {
    return p->seconds - b->other;
}

/* Estimates the number of all steps from the speed so far. */
static int expected_steps(const Budget *b, const Progress *p) {
    const double left = for_steps(b, b->seconds - p->seconds), past = stepping(b, p);
    double steps = left / b->step;
    if (p->now.step > 0)
        steps = left <= 0
                    ? p->now.step
                    : p->now.step / tril_steps_taken(&b->options, b->slower, past / (past + left));
    steps = fmax(steps, p->now.step + 1);
    return steps < b->max_steps ? (int)steps : b->max_steps;
}

/* Sets, by the measured speed of the rung, the time of a step and of an evaluation, which reads a
 * sample if the last ones would take too long. */
static void expect(Budget *b, const Plan *plan, const RungPlan *rung) {
    const double most = 0.25, whole = plan_held_out(plan) / rung->pace.evaluating;
    b->step = step_seconds(plan, rung, b->slower);
    b->part = fmin(1, most * b->seconds / (b->closing * whole));
    b->evaluation = b->part * whole;
}

Budget budget_open(const Plan *plan, const RungPlan *rung, double seconds, double opening,
                   const Progress *p) {
    /* a resumed training run may have measured its best weights before, but not kept the loss */
    bool known = !plan_is_bf16(plan) && p->now.step == 0;
    const double epochs = plan->options.epochs;
    double most = epochs > 0 ? epochs * (double)plan->input.trained_on / plan_step_characters(plan)
                             : MOST_STEPS;
    if (rung->baseline) most = BASELINE_STEPS;
    if (plan->ladder_steps > 0) most = fmin(most, plan->ladder_steps);
    Budget b = {.by_time = plan_has_time(plan),
                .seconds = seconds,
                .time = plan_time(plan),
                .steps = (int)plan->options.steps,
                .max_steps = (int)fmax(1, fmin(most, MOST_STEPS)),
                .eval_every = (int)plan->options.eval_every,
                .options = plan_options(plan, rung),
                .slower = p->now.windows_grow ? rung->pace.slower : 1,
                .part = 1,
                .last_evaluation = p->seconds,
                .closing = plan_closing(plan, known),
                .opening = opening,
                .other = opening,
                .patience = plan->options.patience};
    if (b.by_time) expect(&b, plan, rung);
    if (b.by_time) b.steps = expected_steps(&b, p);
    if (p->now.cooling > 0) budget_limit_steps(&b, p->now.cooled);
    b.expected = b.steps;
    return b;
}

double budget_expected(const Budget *b) {
    return fmin(b->seconds, b->steps * b->step + b->seconds - for_steps(b, b->seconds));
}

size_t budget_sample(const Budget *b, double characters) {
    return b->part < 1 ? (size_t)fmax(1, b->part * characters) : 0;
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
    if (!b->by_time) return p->now.step >= b->steps;
    b->steps = expected_steps(b, p);
    return for_steps(b, b->seconds - p->seconds) < stepping(b, p) / p->now.step ||
           p->now.step >= b->max_steps;
}

bool budget_nearly_used(Budget *b, const Progress *p, bool used) {
    const double few = used ? 0.1 : 0.02;
    return b->by_time && (budget_used(b, p) || b->steps - p->now.step < fmax(2, few * b->steps));
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool used) {
    const double soon = 0.25; /* of the steps between evaluations */
    const int few = b->eval_every > 1 ? 2 : 1;
    /* under a time limit the steps left may have been overestimated at the last evaluation */
    if (used) return !b->by_time || isnan(p->now.lowest) || p->now.recent_steps >= few;
    if (!b->by_time)
        return p->now.step % b->eval_every == 0 &&
               b->steps - p->now.step >= fmax(few, soon * b->eval_every);
    double left = stepping(b, p) / p->now.step * (b->steps - p->now.step);
    double part = (p->seconds + left) / TRIL_EVALUATIONS, since = p->seconds - b->last_evaluation;
    /* on a busy machine, one step may take longer than a part */
    return p->now.recent_steps >= few && since >= part && since >= RARE * b->evaluation &&
           left >= part / 2;
}

void budget_evaluated(Budget *b, const Progress *p, double seconds) {
    b->measured = true;
    b->evaluation = seconds;
    b->other += seconds;
    b->last_evaluation = p->seconds;
}

void budget_saved(Budget *b, double seconds) {
    b->evaluation += seconds;
    b->other += seconds;
}
