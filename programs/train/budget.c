#include "programs/train/budget.h"

#include <math.h>

static const double RARE = 20; /* training between two evaluations takes as many times as long */

/* ---- planning ---- */

/* Returns the expected seconds of a step if one with whole windows takes `slowdown` times as long
 * as one with the shortest. */
static double mean_step(const Plan *plan, const RungPlan *rung, double slowdown) {
    enum { PARTS = 100 };
    return plan_step_characters(plan) / rung->pace.speed / slowdown *
           tril_steps_taken(&rung->options, slowdown, 1.0 / PARTS) * PARTS;
}

double budget_step(const Plan *plan, const RungPlan *rung) {
    return mean_step(plan, rung, plan_windows_grow(plan, rung) ? rung->pace.slowdown : 1);
}

double budget_share(const Plan *plan, const RungPlan *of, double left) {
    const double most = 0.1; /* the largest share of a baseline, which needs few steps */
    double all = 0;
    if (of->baseline) return most * left;
    for (const RungPlan *rung = of; rung < plan->rungs + plan->rung_count; rung++)
        all += budget_step(plan, rung);
    return left * budget_step(plan, of) / all;
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
static double stepping(const Result *r) {
    return r->seconds - r->other;
}

/* Estimates the number of all steps from the speed so far or, before the first step, as measured.
 */
static int expected_steps(const Budget *b, const Result *r) {
    const double left = for_steps(b, b->seconds - r->seconds), past = stepping(r);
    double steps = r->now.step;
    if (steps <= 0)
        steps = left / mean_step(b->plan, b->rung, b->slowdown);
    else if (left > 0)
        steps /= tril_steps_taken(&b->rung->options, b->slowdown, past / (past + left));
    return (int)fmin(fmax(steps, r->now.step + 1), b->max_steps);
}

double budget_part(const Plan *plan, const RungPlan *rung, double seconds) {
    const double share = 0.25, /* the largest one of the time for the last evaluations */
        all = plan_held_out(plan) / rung->pace.evaluating;
    return fmin(1, share * seconds / (closing(plan, !plan_is_bf16(plan)) * all));
}

Budget budget_open(const Plan *plan, const RungPlan *rung, double seconds, double opening,
                   const Result *r) {
    const bool by_time = plan_has_time(plan);
    const double epochs = plan->options.epochs,
                 once = (double)plan->corpus->trained_on / plan_step_characters(plan),
                 most = !by_time         ? plan->options.steps
                        : rung->baseline ? BASELINE_STEPS
                        : epochs > 0     ? epochs * once
                                         : MOST_STEPS;
    Budget b = {
        .plan = plan,
        .rung = rung,
        .max_steps = (int)fmax(1, fmin(most, MOST_STEPS)),
        .seconds = seconds,
        .slowdown = r->now.windows_grow ? rung->pace.slowdown : 1,
        /* a resumed training run may have measured its best weights, but not kept the loss */
        .closing = closing(plan, !plan_is_bf16(plan) && r->now.step == 0),
        .opening = opening};
    b.steps = b.max_steps;
    if (by_time) {
        b.evaluation = plan->part * plan_held_out(plan) / rung->pace.evaluating;
        b.steps = expected_steps(&b, r);
    }
    if (r->now.cooldown_begin > 0) budget_limit_steps(&b, r->now.cooldown_end);
    return b;
}

/* ---- training ---- */

bool budget_stale(const Result *r, double steps) {
    const int not_chance = 2; /* evaluations: one worse loss can be chance */
    return r->now.cooldown_begin <= 0 && r->now.since_lowest >= not_chance &&
           r->now.step - r->now.lowest_step > steps;
}

bool budget_complete(const Budget *b, const Result *r) {
    const bool by_time = plan_has_time(b->plan);
    const double planned = by_time ? r->early_stop : b->steps;
    if (r->early_stop > 0 && budget_stale(r, b->plan->options.patience * planned)) return true;
    return r->now.step >= b->max_steps ||
           (by_time && (r->time >= b->plan->options.time || r->seconds >= b->seconds));
}

void budget_limit_steps(Budget *b, double steps) {
    b->max_steps = (int)fmin(b->max_steps, steps);
    b->steps = (int)fmin(b->steps, steps);
}

bool budget_used(Budget *b, const Result *r, double few) {
    const bool last = r->now.step >= b->max_steps;
    if (!plan_has_time(b->plan)) return last;
    b->steps = expected_steps(b, r);
    const double least = few > 0 ? fmax(2, few * b->steps) : 0;
    return last || for_steps(b, b->seconds - r->seconds) < stepping(r) / r->now.step ||
           b->steps - r->now.step < least;
}

bool budget_evaluation_due(const Budget *b, const Result *r, bool used) {
    const bool by_time = plan_has_time(b->plan);
    const double soon = by_time ? 0.5 : 0.25; /* of the steps between evaluations */
    double every = b->plan->options.eval_every;
    const int few = every > 1 ? 2 : 1;
    /* under a time limit the steps left may have been overestimated at the last evaluation */
    if (used) return !by_time || isnan(r->now.lowest) || r->now.recent_steps >= few;
    if (by_time)
        every = fmax(b->steps / (double)TRIL_EVALUATIONS,
                     RARE * b->evaluation * r->now.step / stepping(r));
    return (by_time ? r->now.recent_steps >= fmax(few, every) : r->now.step % (int)every == 0) &&
           b->steps - r->now.step >= fmax(few, soon * every);
}
