#include "programs/train/verdict.h"
#include "programs/common.h"
#include "programs/train/budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double verdict_lower_rate(const RungPlan *rung, double rate) {
    return fmin(tril_rung_rate(rung->name, &rung->options), rate / 3);
}

/* Neither chance nor the text makes the mean training loss of many steps rise that far. A rate that
 * has been lowered since then is not to blame. At low rates a training run seldom fails. */
static bool has_high_rate(const Ladder *l, const Result *r, char text[VERDICT_SIZE]) {
    const double far = 0.25, deviations = 5, same = 0.999, high = 3;
    const Evaluation *floor = &r->course->floor, *last = &r->course->last;
    const TrilOptions *o = &r->rung->options;
    const double usual = tril_rung_rate(r->name, o), set = o->learning_rate,
                 rate = isnan(set) ? usual : set, rise = last->loss - floor->loss;
    char reason[96] = "the loss is not below that of the counted bigram";
    if (rate >= same * r->course->peak &&
        rise > fmax(far, deviations * (floor->noise + last->noise)))
        snprintf(reason, sizeof reason, "by step %d the training loss had risen from %s to %s",
                 last->step, figure(floor->loss, 4), figure(last->loss, 4));
    else if (rate < high * usual || r->characters <= 0 ||
             !(r->validation >= l->results[PAIRS].validation))
        return false;
    snprintf(text, VERDICT_SIZE, "the learning rate of %.2g is too high: %s; try --lr %.2g.", rate,
             reason, verdict_lower_rate(r->rung, rate));
    return true;
}

/* Returns true if the training text is known far better than the held-out one. */
static bool is_known(const Result *r) {
    const double by_heart = 0.25;
    return r->characters > 0 && r->validation - r->train > by_heart * r->validation;
}

/* The training loss still falls, far below the held-out loss, which has risen since its lowest. At
 * least two evaluations must show that, because one can be chance. No rise is needed if the
 * training text is known by heart. */
static bool overfits(const Result *r, char text[VERDICT_SIZE]) {
    const double rise = 0.03, small_rise = 0.01, apart = 0.2, fall = 0.02;
    const Course *c = r->course;
    const bool ended = r->characters > 0;
    const double most = c->lowest.validation + (is_known(r) ? 0 : ended ? small_rise : rise);
    snprintf(text, VERDICT_SIZE,
             "overfitting since step %d, whose model is kept: the training loss still falls "
             "(%.4f), but the held-out loss no longer does (%.4f then, %.4f now); a longer text "
             "helps most, then more --dropout.",
             c->lowest.step, c->last.loss, r->validation, c->last.validation);
    return c->since_lowest >= 2 && fmin(c->before.validation, c->last.validation) > most &&
           c->last.validation - c->last.loss > apart && c->lowest.loss - c->last.loss > fall;
}

static double passes(const Ladder *l, const Result *r) {
    return r->course->row.characters / (double)l->plan->corpus->trained_on;
}

/* Returns true for a text so short that seeing it so often teaches nothing but itself. */
static bool seen_too_often(const Ladder *l, const Result *r) {
    const double often = 10;
    return l->plan->corpus->characters < ENOUGH_CHARACTERS && passes(l, r) >= often;
}

/* Returns the result that this one should be below, and is not: the rung before in a ladder, but
 * for chance; the counts that ngram begins with; else the best of counting at most pairs. NULL if
 * there is none. A trained bigram can only come near the counted one, and is no measure for the
 * next rung if it does not. */
static const Result *not_below(const Ladder *l, const Result *r) {
    const double near = 0.1, chance = 0.01, slack = 0.05, is = r->validation;
    const Result *pairs = &l->results[PAIRS], *ngram = &l->results[NGRAM], *best = pairs,
                 *before = r - 1;
    if (strcmp(r->name, tril_rung(0)) == 0) return is > pairs->validation + near ? pairs : NULL;
    if (strcmp(r->name, "ngram") == 0) return is >= ngram->validation ? ngram : NULL;
    const bool learned =
        strcmp(before->name, tril_rung(0)) != 0 || before->validation <= pairs->validation + near;
    if (l->plan->ladder && before->course && learned && is > before->validation + chance)
        return before;
    for (const Result *counted = l->results; counted < pairs; counted++)
        if (counted->validation < best->validation) best = counted;
    return is >= best->validation - (seen_too_often(l, r) ? slack : 0) ? best : NULL;
}

/* Writes the options that train so many times as long. Where --epochs ended the training, more time
 * alone changes nothing. */
static void lengthen(const Plan *plan, const Course *c, int times, char options[LONGER_SIZE]) {
    const TrilOptions *o = &plan->options;
    const bool by_time = plan_has_time(plan);
    int length = snprintf(options, LONGER_SIZE, by_time ? "--time %.0f" : "--steps %.0f",
                          by_time ? fmin(times * o->time, MOST_SECONDS)
                                  : fmin(times * o->steps, MOST_STEPS));
    const double next = c->row.characters + plan_step_characters(plan);
    if (by_time && o->epochs > 0 && next > o->epochs * (double)plan->corpus->trained_on)
        snprintf(options + length, LONGER_SIZE - (size_t)length, " --epochs %g", times * o->epochs);
}

/* Returns true if a result is not below `base` because the text is learned by heart, which more
 * steps do not mend. */
static bool memorizes(const Ladder *l, const Result *r, const Result *base) {
    const bool ahead = r->train < base->train;
    const bool past = r->course->since_lowest > 0;
    if (passes(l, r) <= 2) return false;
    if (base->course) return ahead || past;
    return (past || is_known(r)) && (ahead || (base != &l->results[NGRAM] && seen_too_often(l, r)));
}

/* Says that a result is not below `base`, and why: the steps were too few (v->falling), the text is
 * too short, or neither. */
static VerdictKind judge_above(const Ladder *l, const Result *r, const Result *base, bool by_heart,
                               Verdict *v) {
    const bool begins = base == &l->results[NGRAM], few = v->falling && !begins;
    char why[160] = ", which needs no training";
    if (few)
        snprintf(why, sizeof why, ": it took only %s; try %s",
                 count_of(r->course->row.step, "step"), v->longer);
    else if (by_heart || (!begins && seen_too_often(l, r)))
        snprintf(why, sizeof why,
                 ": it read %s %.0f times; use a longer text, or begin with --init MODEL",
                 count_of((double)l->plan->corpus->characters, "character"), passes(l, r));
    else if (begins)
        snprintf(why, sizeof why,
                 ": its text comes from counting; the network has learned nothing yet");
    snprintf(v->text, VERDICT_SIZE, "not %sbelow %s%s (%s%s against %s%.4f)%s.", few ? "yet " : "",
             base->course || base == l->results ? "" : "the ", base->name, r->sampled ? "~" : "",
             figure(r->validation, 4), base->sampled ? "~" : "", base->validation, why);
    return few ? TOO_SHORT : NO_BETTER;
}

/* Judges a training run that has ended, if there is nothing worse to say. In trials that trained
 * twice as long, a loss that was the lowest at the end fell by another 0.4 to 0.8 times its fall
 * between 0.3 and 0.6 of the steps. */
static VerdictKind judge_end(const Ladder *l, const Result *r, Verdict *v) {
    enum { MORE = 2, MUCH = 4 }; /* times as many steps; MUCH to reach another loss */
    const double worth = 0.03, margin = 1.25;
    const Course *c = r->course;
    const Result *base = not_below(l, r);
    const double middle = course_validation(c, 0.3),
                 trained_on = (double)l->plan->corpus->trained_on;
    const bool lowest = c->since_lowest == 0,
               falls = lowest && !(middle - course_validation(c, 0.6) <= worth),
               more =
                   lowest && 2 * passes(l, r) <= margin * tril_epochs_that_help(trained_on, false),
               by_heart = base && memorizes(l, r, base);
    v->falling = base ? !by_heart && (falls || base->course)
                      : falls && more && !r->rung->baseline && !isnan(middle);
    if (v->falling || (more && !by_heart))
        lengthen(l->plan, c, base && v->falling ? MUCH : MORE, v->longer);
    if (base) return judge_above(l, r, base, by_heart, v);
    snprintf(v->text, VERDICT_SIZE, "the loss was still falling: it would be lower with %s.",
             v->longer);
    return v->falling ? STILL_FALLING : NO_VERDICT;
}

void verdicts_judge(Ladder *l) {
    const double learned = 0.05; /* a loss of nearly 0 has nowhere to fall to */
    for (Result *r = l->results + CLOSED_FORMS; r < l->results + l->count; r++) {
        Verdict *v = &r->verdict;
        const bool requested = !r->rung->baseline; /* another has only to train for long enough */
        *v = (Verdict){.kind = NO_VERDICT};
        if (r->course->evaluated.count == 0) continue;
        if (requested && has_high_rate(l, r, v->text))
            v->kind = RATE_TOO_HIGH;
        else if (requested && overfits(r, v->text))
            v->kind = OVERFITTING;
        else if (r->characters > 0 && r->validation > learned)
            v->kind = judge_end(l, r, v);
    }
}
