#include "programs/train/verdict.h"
#include "programs/common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A result to judge, and the results that it is compared with. */
typedef struct {
    const Plan *plan;
    const Result *result;
    const Result *below;   /* the rung before it in a ladder, or NULL */
    const Result *pairs;   /* the counted bigram */
    const Result *counted; /* the lowest of the baselines that count at most pairs; may be NULL */
    const Result *ngram;   /* the counted n-gram, in windows, if any */
} Case;

/* Writes the verdict, and returns true. */
__attribute__((format(printf, 3, 4))) static bool say(Verdict *v, VerdictKind kind,
                                                      const char *format, ...) {
    va_list arguments;
    v->kind = kind;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    return true;
}

/* ---- how long to train ---- */

static double epochs_of(const Case *k) {
    return k->result->course->characters / (double)k->plan->corpus->trained_on;
}

/* Returns true if the loss still fell, and twice the steps would not show the text more often than
 * helps. */
static bool twice_helps(const Case *k) {
    const double margin = 1.25;
    const double most = tril_epochs_that_help((double)k->plan->corpus->trained_on, false);
    return k->result->course->since_lowest <= 0 && 2 * epochs_of(k) <= margin * most;
}

/* Writes the options that train so many times as long. Where --epochs ended the training, more time
 * alone changes nothing. */
static void lengthen(const Case *k, int times, char options[LONGER_SIZE]) {
    const TrilOptions *o = &k->plan->options;
    const bool by_time = plan_has_time(k->plan);
    int length = snprintf(options, LONGER_SIZE, by_time ? "--time %.0f" : "--steps %.0f",
                          times * (by_time ? o->time : o->steps));
    const double next = k->result->course->characters + plan_step_characters(k->plan);
    if (by_time && o->epochs > 0 && next > o->epochs * (double)k->plan->corpus->trained_on)
        snprintf(options + length, LONGER_SIZE - (size_t)length, " --epochs %g", times * o->epochs);
}

/* Returns true if the loss fell in the middle of the training, and is the lowest at the end; also
 * if there are too few evaluations to tell. In trials that trained twice as long, it fell by
 * another 0.4 to 0.8 times its fall between 0.3 and 0.6 of the steps. */
static bool still_falling(const Course *c) {
    const double worth = 0.03;
    return c->since_lowest == 0 &&
           !(course_validation(c, 0.3) - course_validation(c, 0.6) <= worth);
}

/* ---- the verdicts ---- */

double verdict_lower_rate(double usual, double rate) {
    return fmin(usual, rate / 3);
}

/* Neither chance nor the text makes the mean training loss of many steps rise that far. A rate that
 * has been lowered since then is not to blame. At low rates a training run seldom fails. */
static bool judge_rate(const Case *k, Verdict *v) {
    const double far = 0.25, deviations = 5, same = 0.999, high = 3;
    const Course *c = k->result->course;
    const double usual = plan_usual_rate(k->result->rung),
                 set = k->result->rung->options.learning_rate, rate = isnan(set) ? usual : set,
                 lower = verdict_lower_rate(usual, rate);
    if (c->last.loss - c->floor.loss > fmax(far, deviations * (c->floor.noise + c->last.noise)) &&
        rate >= same * c->peak)
        return say(v, RATE_TOO_HIGH,
                   "the learning rate of %.2g is too high: by step %d the training loss had risen "
                   "from %s to %s; try --lr %.2g.",
                   rate, c->last.step, figure(c->floor.loss, 4), figure(c->last.loss, 4), lower);
    return c->ended && k->pairs && rate >= high * usual &&
           k->result->validation >= k->pairs->validation &&
           say(v, RATE_TOO_HIGH,
               "not below the counted bigram: the learning rate of %.2g, %.3g times the usual one, is "
               "probably too high; try --lr %.2g.",
               rate, rate / usual, lower);
}

/* The training loss still falls, far below the held-out loss, which has risen since its lowest. At
 * least two evaluations must show that, because one can be chance. No rise is needed if the
 * training text is known by heart. */
static bool judge_overfitting(const Case *k, Verdict *v) {
    const double rise = 0.03, small_rise = 0.01, by_heart = 0.25, apart = 0.2, fall = 0.02;
    const Course *c = k->result->course;
    const Result *r = k->result;
    const bool known = c->ended && r->validation - r->train > by_heart * r->validation;
    const double kept = c->ended ? r->validation : c->lowest.validation; /* as in the table */
    const double most = c->lowest.validation + (known ? 0 : c->ended ? small_rise : rise);
    return c->since_lowest >= 2 && fmin(c->before.validation, c->last.validation) > most &&
           c->last.validation - c->last.loss > apart && c->lowest.loss - c->last.loss > fall &&
           say(v, OVERFITTING,
               "overfitting since step %d, whose model is kept: the training loss still falls "
               "(%.4f), but the held-out loss no longer does (%.4f then, %.4f now); a longer text "
               "helps most, then more --dropout.",
               c->lowest.step, c->last.loss, kept, c->last.validation);
}

/* Returns true for a text so short that seeing it so often teaches nothing but itself. */
static bool seen_too_often(const Case *k) {
    const double often = 10;
    return k->plan->corpus->characters < ENOUGH_CHARACTERS && epochs_of(k) >= often;
}

/* Returns the result that this one should be below, and is not: the counts that ngram begins with,
 * the best of counting at most pairs, or the rung before, but for chance. NULL if there is none. A
 * trained bigram can only come near the counted one. */
static const Result *not_below(const Case *k) {
    const double near = 0.1, chance = 0.01, slack = 0.05, is = k->result->validation;
    if (strcmp(k->result->rung->name, tril_rung(0)) == 0)
        return k->pairs && is > k->pairs->validation + near ? k->pairs : NULL;
    if (k->ngram && strcmp(k->result->rung->name, "ngram") == 0)
        return is >= k->ngram->validation ? k->ngram : NULL;
    if (k->below && is > k->below->validation + chance) return k->below;
    return is >= k->counted->validation - (seen_too_often(k) ? slack : 0) ? k->counted : NULL;
}

/* Sets the verdict on a training run that has ended, if there is nothing worse to say. A result is
 * not below another because the text is learned by heart, the steps were too few, or neither. */
static void judge_end(const Case *k, Verdict *v) {
    enum { MORE = 2, MUCH = 4 }; /* times as many steps; MUCH to reach the loss of counting */
    const Result *r = k->result, *base = not_below(k);
    const Course *c = k->result->course;
    const bool falling = still_falling(c), more = twice_helps(k), begins = base && base == k->ngram;
    char pair[96] = "";
    if (base)
        snprintf(pair, sizeof pair, "below %s%s (%s against %.4f)",
                 strncmp(base->name, "counted", 7) == 0 ? "the " : "", base->name,
                 figure(r->validation, 4), base->validation);
    if (base && !begins &&
        (seen_too_often(k) ||
         (base == k->below && (c->since_lowest > 0 || r->train < base->train)))) {
        say(v, OVERFITTING,
            "not %s: it learns the training text, %s seen %.0f times, by heart; use a longer text, "
            "or begin with --init MODEL.",
            pair, count_of((double)k->plan->corpus->characters, "character"), epochs_of(k));
        return;
    }
    v->falling =
        base ? falling || base == k->below
             : falling && more && !k->result->rung->baseline && !isnan(course_validation(c, 0.3));
    if (v->falling || more) lengthen(k, base && v->falling ? MUCH : MORE, v->longer);
    if (begins)
        say(v, NO_BETTER,
            "not %s, with which it begins: its text comes from counting; the network has learned "
            "nothing yet.",
            pair);
    else if (base && v->falling)
        say(v, NO_BETTER, "not yet %s: it took only %s; try %s.", pair, count_of(c->steps, "step"),
            v->longer);
    else if (base)
        say(v, NO_BETTER, "not %s, which needs no training.", pair);
    else if (v->falling)
        say(v, STILL_FALLING, "the loss was still falling: it would be lower with %s.", v->longer);
}

/* Sets the first verdict that applies. A baseline only has to be trained for long enough. While the
 * training runs, it is judged alone. A loss of nearly 0 has nowhere to fall to. */
static void judge(const Case *k, Verdict *v) {
    const double learned = 0.05;
    if (!k->result->rung->baseline && (judge_rate(k, v) || judge_overfitting(k, v))) return;
    if (k->counted && k->result->course->ended && k->result->validation > learned) judge_end(k, v);
}

void verdicts_judge(const Plan *plan, Result *results, int count) {
    Case k = {.plan = plan};
    for (Result *r = results; r < results + count; r++) {
        if (r->order > 0)
            k.ngram = k.ngram ? k.ngram : r;
        else if (!r->course && !(k.counted && k.counted->validation <= r->validation))
            k.counted = r;
        if (strcmp(r->name, "counted bigram") == 0) k.pairs = r;
        r->verdict = (Verdict){.kind = NO_VERDICT};
        if (r->course && r->course->evaluated.count > 0) {
            k.result = r;
            judge(&k, &r->verdict);
        }
        const bool untrained = r->verdict.kind == NO_BETTER && strcmp(r->name, tril_rung(0)) == 0;
        k.below = plan->ladder && r->course && !untrained ? r : NULL;
    }
}
