#include "programs/train/verdict.h"
#include "programs/common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How many times as long a training run is proposed: MORE if that lowers the loss, MUCH if the
 * training was too short to reach the loss of counting. */
enum { MORE = 2, MUCH = 4 };

/* A result to judge, and the results that it is compared with. */
typedef struct {
    const Plan *plan;
    const RungPlan *rung;
    const Result *result;
    const Course *course;
    const Result *below;   /* the rung before it in a ladder, or NULL */
    const Result *pairs;   /* the counted bigram */
    const Result *counted; /* the lowest of the baselines that count at most pairs; may be NULL */
    const Result *ngram;   /* the counted n-gram, in windows, if any */
} Case;

/* Writes the verdict, and returns true. `longer`: how many times as long to train, or 0. */
__attribute__((format(printf, 4, 5))) static bool say(Verdict *v, VerdictKind kind, int longer,
                                                      const char *format, ...) {
    va_list arguments;
    v->kind = kind;
    v->longer = longer;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    return true;
}

/* ---- how long to train ---- */

static double epochs_of(const Case *k) {
    return k->course->characters / (double)k->plan->input.trained_on;
}

/* Returns MORE unless the loss no longer fell, or twice the steps would show the text more often
 * than helps. */
static int more(const Case *k) {
    const double margin = 1.25;
    const double most = tril_epochs_that_help((double)k->plan->input.trained_on, false);
    return k->course->since_lowest <= 0 && 2 * epochs_of(k) <= margin * most ? MORE : 0;
}

/* Writes the options that train longer. Where --epochs ended the training, more time alone changes
 * nothing. */
static const char *longer(const Plan *plan, const Course *c, int times, char text[LONGER_SIZE]) {
    const bool by_time = plan_has_time(plan);
    const double epochs = plan->options.epochs, next = c->characters + plan_step_characters(plan);
    int length = snprintf(text, LONGER_SIZE, by_time ? "--time %.0f" : "--steps %.0f",
                          times * (by_time ? plan->options.time : plan->options.steps));
    if (by_time && epochs > 0 && next > epochs * (double)plan->input.trained_on)
        snprintf(text + length, LONGER_SIZE - (size_t)length, " --epochs %g", times * epochs);
    return text;
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
    const Course *c = k->course;
    const double usual = plan_usual_rate(k->plan, k->rung),
                 set = plan_options(k->plan, k->rung).learning_rate,
                 rate = isnan(set) ? usual : set, lower = verdict_lower_rate(usual, rate);
    if (c->last.loss - c->floor.loss > fmax(far, deviations * (c->floor.noise + c->last.noise)) &&
        rate >= same * c->peak)
        return say(v, RATE_TOO_HIGH, 0,
                   "the learning rate of %.2g is too high: by step %d the training loss had risen "
                   "from %s to %s; try --lr %.2g.",
                   rate, c->last.step, figure(c->floor.loss, 4), figure(c->last.loss, 4), lower);
    return c->ended && k->pairs && rate >= high * usual &&
           k->result->validation >= k->pairs->validation &&
           say(v, RATE_TOO_HIGH, 0,
               "not below the counted bigram: the learning rate of %.2g, %.3g times the usual one, is "
               "probably too high; try --lr %.2g.",
               rate, rate / usual, lower);
}

/* The training loss still falls, far below the held-out loss, which has risen since its lowest. At
 * least two evaluations must show that, because one can be chance. No rise is needed if the
 * training text is known by heart. */
static bool judge_overfitting(const Case *k, Verdict *v) {
    const double rise = 0.03, small_rise = 0.01, by_heart = 0.25, apart = 0.2, fall = 0.02;
    const Course *c = k->course;
    const Result *r = k->result;
    const bool known = c->ended && r->validation - r->train > by_heart * r->validation;
    const double most = c->lowest.validation + (known      ? 0
                                                : c->ended ? small_rise
                                                           : rise),
                 from = isnan(c->lowest.loss) ? c->second_loss : c->lowest.loss;
    return c->since_lowest >= 2 && fmin(c->before.validation, c->last.validation) > most &&
           c->last.validation - c->last.loss > apart && from - c->last.loss > fall &&
           say(v, OVERFITTING, 0,
               "overfitting since step %d, whose model is kept: the training loss still falls "
               "(%.4f), but the held-out loss no longer does (%.4f then, %.4f now); a longer text "
               "helps most, then more --dropout.",
               c->lowest.step, c->last.loss, c->lowest.validation, c->last.validation);
}

/* Returns true for a text so short that seeing it so often teaches nothing but itself. */
static bool seen_too_often(const Case *k) {
    const double often = 10;
    return k->plan->input.characters < ENOUGH_CHARACTERS && epochs_of(k) >= often;
}

/* Returns the result that this one should be below, and is not: the counts that ngram begins with,
 * the best of counting at most pairs, or the rung before, but for chance. NULL if there is none. A
 * trained bigram can only come near the counted one. */
static const Result *not_below(const Case *k) {
    const double near = 0.1, chance = 0.01, slack = 0.05, is = k->result->validation;
    if (strcmp(k->rung->name, tril_rung(0)) == 0)
        return is > k->pairs->validation + near ? k->pairs : NULL;
    if (k->ngram && strcmp(k->rung->name, "ngram") == 0)
        return is >= k->ngram->validation ? k->ngram : NULL;
    if (k->below && is > k->below->validation + chance) return k->below;
    return is >= k->counted->validation - (seen_too_often(k) ? slack : 0) ? k->counted : NULL;
}

/* Says why a result is not below another: the text is learned by heart, the steps were too few, or
 * neither. */
static bool judge_counting(const Case *k, Verdict *v) {
    const Result *r = k->result, *base = not_below(k);
    const Course *c = k->course;
    char options[LONGER_SIZE], pair[96];
    if (!base) return false;
    const bool falling = still_falling(c), counted = strncmp(base->name, "counted", 7) == 0;
    snprintf(pair, sizeof pair, "below %s%s (%s against %.4f)", counted ? "the " : "", base->name,
             figure(r->validation, 4), base->validation);
    if (base == k->ngram)
        return say(v, NO_BETTER, falling ? MUCH : more(k),
                   "not %s, with which it begins: its text comes from counting; the network has "
                   "learned nothing yet.",
                   pair);
    if (seen_too_often(k) || (base == k->below && (c->since_lowest > 0 || r->train < base->train)))
        return say(
            v, OVERFITTING, 0,
            "not %s: it learns the training text, %s characters seen %.0f times, by heart; a "
            "longer text helps, or --init MODEL to begin with.",
            pair, grouped((double)k->plan->input.characters), epochs_of(k));
    if (falling || base == k->below)
        return say(v, NO_BETTER, MUCH, "not yet %s: %d steps are too few; try %s.", pair, c->steps,
                   longer(k->plan, c, MUCH, options));
    return say(v, NO_BETTER, more(k), "not %s, which needs no training.", pair);
}

static bool judge_steps(const Case *k, Verdict *v) {
    char options[LONGER_SIZE];
    return !isnan(course_validation(k->course, 0.3)) && still_falling(k->course) && more(k) > 0 &&
           say(v, STILL_FALLING, MORE, "the loss was still falling: it would be lower with %s.",
               longer(k->plan, k->course, MORE, options));
}

/* Sets the first verdict that applies. A baseline only has to be trained for long enough. While the
 * training runs, it is judged alone. A loss of nearly 0 has nowhere to fall to. */
static void judge(const Case *k, Verdict *v) {
    const double learned = 0.05;
    *v = (Verdict){.kind = NO_VERDICT};
    if (!k->rung->baseline && (judge_rate(k, v) || judge_overfitting(k, v))) return;
    if (!k->counted || !k->course->ended || !(k->result->validation > learned)) return;
    if (judge_counting(k, v) || k->rung->baseline || judge_steps(k, v)) return;
    v->longer = more(k);
}

void verdicts_judge(const Plan *plan, Result *results, int count) {
    Case k = {.plan = plan};
    for (Result *r = results; r < results + count; r++) {
        if (r->order > 0)
            k.ngram = k.ngram ? k.ngram : r;
        else if (!r->course && !(k.counted && k.counted->validation <= r->validation))
            k.counted = r;
        if (strcmp(r->name, "counted bigram") == 0) k.pairs = r;
        r->verdict.kind = NO_VERDICT;
        if (r->course && r->course->evaluated.seen > 0) {
            k.rung = plan_rung(plan, r->name);
            k.result = r;
            k.course = r->course;
            judge(&k, &r->verdict);
        }
        const bool untrained = r->verdict.kind == NO_BETTER && strcmp(r->name, tril_rung(0)) == 0;
        k.below = plan->ladder && r->course && !untrained ? r : NULL;
    }
}

bool verdict_asks_for_more(const Result *result) {
    return result->verdict.kind == STILL_FALLING || result->verdict.longer == MUCH;
}

bool verdict_further(const Plan *plan, const Result *result, char options[LONGER_SIZE]) {
    longer(plan, result->course, result->verdict.longer, options);
    return result->verdict.longer > 0;
}
