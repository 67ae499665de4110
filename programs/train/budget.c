#include "programs/train/budget.h"

#include <math.h>

static const double RARE = 20; /* training between two evaluations takes as many times as long */

/* ---- planning ---- */

/* Returns the expected seconds of a step, the mean over all windows, if the time of a step with
 * whole ones is `slower` times that of one with the shortest. */
static double step_seconds(const Plan *plan, const RungPlan *rung, double slower) {
    enum { PARTS = 100 };
    return plan_step_characters(plan) / rung->pace.speed / slower *
           tril_steps_taken(&rung->options, slower, 1.0 / PARTS) * PARTS;
}

double budget_speed(const Plan *plan, const RungPlan *rung) {
    const double slower = plan_windows_grow(plan, rung) ? rung->pace.slower : 1;
    return plan_step_characters(plan) / step_seconds(plan, rung, slower);
}

double budget_share(const Plan *plan, const RungPlan *of, double left) {
    const double most = 0.1; /* the largest share of a baseline, which needs few steps */
    double own = 0, all = 0;
    if (of->baseline) return most * left;
    for (const RungPlan *rung = of; rung < plan->rungs + plan->rung_count; rung++) {
        const double each = rung->pace.speed > 0 ? 1 / budget_speed(plan, rung) : 1;
        if (rung == of) own = each;
        all += each;
    }
    return left * own / all;
}

/* Returns the work after the last step, in evaluations: one of the last weights, then the best
 * weights on the training text and, unless that loss is `known`, on the held-out text. These are in
 * float32, which takes nearly twice as long as bfloat16. */
static double closing(const Plan *plan, bool known) {
    const double step = plan_step_characters(plan),
                 train = fmin(ceil((double)plan->corpus->trained_on / step), TRAIN_BATCHES);
    const double best = (known ? 0 : 1) + train / ceil(plan_held_out(plan) / step);
    return 1 + (plan_is_bf16(plan) ? 1.8 : 1) * best;
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

/* Estimates the number of all steps from the speed so far or, before the first step, as measured.
 */
static int expected_steps(const Budget *b, const Progress *p) {
    const double left = for_steps(b, b->seconds - p->seconds), past = stepping(b, p);
    double steps = p->now.step;
    if (steps <= 0)
        steps = left / step_seconds(b->plan, b->rung, b->slower);
    else if (left > 0)
        steps /= tril_steps_taken(&b->rung->options, b->slower, past / (past + left));
    return (int)fmin(fmax(steps, p->now.step + 1), b->max_steps);
}

Budget budget_open(const Plan *plan, const RungPlan *rung, double seconds, double opening,
                   const Progress *p) {
    const double evaluations = 0.25; /* the largest share of the time for the last ones */
    const double epochs = plan->options.epochs, all = plan_held_out(plan) / rung->pace.evaluating;
    const double most = rung->baseline ? BASELINE_STEPS
                        : epochs > 0
                            ? epochs * (double)plan->corpus->trained_on / plan_step_characters(plan)
                            : MOST_STEPS;
    Budget b = {
        .plan = plan,
        .rung = rung,
        .steps = (int)plan->options.steps,
        .max_steps = (int)fmax(1, fmin(most, MOST_STEPS)),
        .seconds = seconds,
        .slower = p->now.windows_grow ? rung->pace.slower : 1,
        .part = 1,
        /* a resumed training run may have measured its best weights, but not kept the loss */
        .closing = closing(plan, !plan_is_bf16(plan) && p->now.step == 0),
        .opening = opening,
        .other = opening};
    if (plan_has_time(plan)) {
        b.part = fmin(1, evaluations * seconds / (b.closing * all));
        b.evaluation = b.part * all;
        b.steps = expected_steps(&b, p);
    }
    if (p->now.cooling > 0) budget_limit_steps(&b, p->now.cooled);
    return b;
}

/* ---- training ---- */

size_t budget_sample(const Budget *b) {
    return b->part < 1 ? (size_t)fmax(1, b->part * plan_held_out(b->plan)) : 0;
}

/* Returns true if `steps` steps have brought no lower loss. */
static bool is_stale(const Progress *p, double steps) {
    const int not_chance = 2; /* evaluations: one worse loss can be chance */
    return p->now.cooling <= 0 && p->now.since_lowest >= not_chance &&
           p->now.step - p->now.lowest_step > steps;
}

bool budget_stale(const Budget *b, const Progress *p, double share) {
    return is_stale(p, share * b->steps);
}

bool budget_complete(const Budget *b, const Progress *p) {
    const bool by_time = plan_has_time(b->plan);
    const double planned = by_time ? p->early_stop : b->steps;
    if (p->early_stop > 0 && is_stale(p, b->plan->options.patience * planned)) return true;
    if (!by_time) return p->now.step >= b->steps;
    return p->time_limit >= b->plan->options.time || p->seconds >= b->seconds ||
           p->now.step >= b->max_steps;
}

void budget_limit_steps(Budget *b, double steps) {
    b->max_steps = (int)fmin(b->max_steps, steps);
    b->steps = (int)fmin(b->steps, steps);
}

bool budget_used(Budget *b, const Progress *p, double few) {
    if (!plan_has_time(b->plan)) return p->now.step >= b->steps;
    b->steps = expected_steps(b, p);
    const double least = few > 0 ? fmax(2, few * b->steps) : 0;
    return for_steps(b, b->seconds - p->seconds) < stepping(b, p) / p->now.step ||
           p->now.step >= b->max_steps || b->steps - p->now.step < least;
}

bool budget_evaluation_due(const Budget *b, const Progress *p, bool used) {
    const bool by_time = plan_has_time(b->plan);
    const double soon = by_time ? 0.5 : 0.25; /* of the steps between evaluations */
    double every = b->plan->options.eval_every;
    const int few = every > 1 ? 2 : 1;
    /* under a time limit the steps left may have been overestimated at the last evaluation */
    if (used) return !by_time || isnan(p->now.lowest) || p->now.recent_steps >= few;
    if (by_time)
        every = fmax(b->steps / (double)TRIL_EVALUATIONS,
                     RARE * b->evaluation * p->now.step / stepping(b, p));
    return (by_time ? p->now.recent_steps >= fmax(few, every) : p->now.step % (int)every == 0) &&
           b->steps - p->now.step >= fmax(few, soon * every);
}
