#include "programs/train/verdict.h"
#include "programs/common.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* In trials that trained twice as long, the loss fell by another FALL_MIN to FALL_MAX times its
 * fall between 0.3 and 0.6 of the steps (docs/training.md). */
#define FALL_MIN 0.4
#define FALL_MAX 0.8

/* How many times as long a training run is proposed: MORE if that lowers the loss, MUCH if the
 * training was too short to compare or to learn pairs. */
enum { MORE = 2, MUCH = 4 };

/* A result to judge, and the results that it is compared with. */
typedef struct {
    const Plan *plan;
    const RungFiles *rung;
    const Result *result, *pairs; /* pairs: the counted bigram, after the training */
    const Result *below;          /* in a ladder the rung before it, which it should beat */
    const Course *course;
    double rate, usual;    /* peak learning rates: of this training run, and the rung's default */
    const Result *counted; /* the lowest of the baselines that count at most pairs; may be NULL */
    const Result *ngram;   /* the counted n-gram, in windows, if any */
} Case;

/* Writes the verdict, and returns true. */
__attribute__((format(printf, 4, 5))) static bool say(Verdict *v, VerdictKind kind, int step,
                                                      const char *format, ...) {
    va_list arguments;
    v->kind = kind;
    v->step = step;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    return true;
}

/* Returns the article of the result's name in a sentence, if it needs one. */
static const char *the(const Result *r) {
    return strncmp(r->name, "counted", strlen("counted")) == 0 ? "the " : "";
}

/* ---- the learning rate ---- */

double verdict_lower_rate(double usual, double rate) {
    return fmin(usual, rate / 3);
}

static bool judge_rate(const Case *k, Verdict *v) {
    const double far = 0.25, deviations = 4, same = 0.999, high = 3, fall = 0.2, above = 0.15;
    const int few = 3;
    const Course *c = k->course;
    double lower = verdict_lower_rate(k->usual, k->rate), times = k->rate / k->usual;
    /* Neither chance nor the text makes the mean training loss of an interval rise that far. A rate
     * that has been lowered since then is not to blame. */
    bool rose = c->rise.to - c->rise.from > fmax(far, deviations * sqrt(2) * c->floor.noise) &&
                k->rate >= same * c->rise.rate;
    bool jumped = c->spikes >= few && k->rate >= same * c->spike.rate;
    if (rose || jumped) {
        char how[40] = "rose";
        const Rise *rise = rose ? &c->rise : &c->spike;
        if (!rose) snprintf(how, sizeof how, "jumped %d times, at last", c->spikes);
        return say(v, RATE_TOO_HIGH, rise->step,
                   "the learning rate is too high: the training loss %s from %s to %s, at step "
                   "%d. Try --lr %.2g instead of %.2g.",
                   how, figure(rise->from, 4), figure(rise->to, 4), rise->step, lower, k->rate);
    }
    if (!c->ended || times < high) return false; /* at lower rates a training run seldom fails */
    assert(k->pairs);
    const double from = course_validation(c, 0.2 * c->steps),
                 to = course_validation(c, 0.6 * c->steps);
    if (from - to < fall && to > k->pairs->validation + above) /* it has not learned the pairs */
        return say(v, RATE_TOO_HIGH, 0,
                   "the learning rate is too high: the loss did not fall while the rate was at its "
                   "peak. Try --lr %.2g instead of %.2g.",
                   lower, k->rate);
    return k->result->validation >= k->pairs->validation &&
           say(v, RATE_TOO_HIGH, 0,
               "the learning rate is probably too high: it is %.3g times the default, and the "
               "result is worse than counting pairs (%s against %s). Try --lr %.2g first; only "
               "then more steps.",
               times, figure(k->result->validation, 4), figure(k->pairs->validation, 4), lower);
}

/* ---- overfitting ---- */

/* Finds overfitting: the training loss still falls, far below the held-out loss, which has risen
 * since its lowest. At least two evaluations must show that, because one can be chance. At the end
 * even a small rise counts, and none is needed if the training text is known by heart. */
static bool judge_overfitting(const Case *k, Verdict *v) {
    const double rise = 0.03, small_rise = 0.01, by_heart = 0.25, apart = 0.2, fall = 0.02;
    const Course *c = k->course;
    const Result *r = k->result;
    const int step = c->lowest.step;
    bool known = c->ended && r->validation - r->train > by_heart * r->validation;
    const double most = c->lowest.validation + (known ? 0 : c->ended ? small_rise : rise);
    const double from = isnan(c->lowest.loss) ? c->second_loss : c->lowest.loss;
    char kept[48] = "";
    if (r->kept > 0) snprintf(kept, sizeof kept, " The model of step %d is kept.", r->kept);
    return c->since_lowest >= 2 && fmin(c->before.validation, c->last.validation) > most &&
           c->last.validation - c->last.loss > apart && from - c->last.loss > fall &&
           say(v, OVERFITTING, step,
               "overfitting since step %d: the model memorizes the training text (training loss %.4f), "
               "and the held-out loss no longer falls: it was %.4f then and is %.4f now.%s%s",
               step, c->last.loss, c->lowest.validation, c->last.validation, kept,
               c->ended ? " A longer text helps most; then a smaller model, or more --dropout."
                        : "");
}

/* ---- underfitting ---- */

/* A loss that is smaller than the least fall to expect has stopped falling by itself. */
static bool still_falling(const Course *c) {
    const double worth = 0.02;
    if (!c || !c->ended || c->since_lowest > 0) return false;
    double fall = course_fall(c, 0.3, 0.6);
    return fall * (FALL_MIN + FALL_MAX) / 2 > worth && fall * FALL_MIN < c->lowest.validation;
}

static double epochs_of(const Plan *plan, const Course *c) {
    return c->characters / (double)plan->input.trained_on;
}

/* With a time limit, returns true if the training ended because it had seen the text --epochs
 * times. Then more time alone changes nothing. */
static bool ended_by_epochs(const Plan *plan, const Course *c) {
    double next = c->characters + plan_step_characters(plan);
    return plan_has_time(plan) && plan->options.epochs > 0 &&
           next > plan->options.epochs * (double)plan->input.trained_on;
}

/* Writes the options that train longer. */
static const char *longer(const Plan *plan, const Course *c, double times, char text[LONGER_SIZE]) {
    bool by_time = plan_has_time(plan);
    int length = snprintf(text, LONGER_SIZE, by_time ? "--time %.0f" : "--steps %.0f",
                          times * (by_time ? plan->options.time : plan->options.steps));
    if (ended_by_epochs(plan, c))
        snprintf(text + length, LONGER_SIZE - (size_t)length, " --epochs %g",
                 times * plan->options.epochs);
    return text;
}

/* Returns true if twice the steps would show the text more often than helps. */
static bool twice_too_often(const Plan *plan, const Course *c) {
    const double margin = 1.25;
    double help = tril_epochs_that_help((double)plan->input.trained_on, false);
    return 2 * epochs_of(plan, c) > margin * help;
}

/* A text is too short if it was seen often and the loss is still not below that of counting. */
static bool judge_text(const Case *k, Verdict *v) {
    const double often = 10, below = 0.05; /* a loss with nothing left to learn */
    double epochs = epochs_of(k->plan, k->course);
    return k->course->ended && k->plan->input.characters < ENOUGH_CHARACTERS && epochs >= often &&
           k->result->validation >= fmax(below, k->counted->validation - below) &&
           say(v, TEXT_TOO_SHORT, 0,
               "the text is too short: from its %s characters, seen %.0f times, the model learned "
               "only pairs of characters. To learn more, a model needs about %s characters. Use a "
               "longer text, or begin with a trained model: --init MODEL.",
               grouped((double)k->plan->input.characters), epochs, grouped(ENOUGH_CHARACTERS));
}

/* A text of many short lines may be a list of names or words. Lines of verse are longer. */
static bool judge_list(const Case *k, Verdict *v) {
    enum { MANY = 100, SHORT = 20, LONGEST = 60 };
    const TrilExtent *input = &k->plan->input;
    const double mean = (double)input->characters / (double)input->lines;
    return k->course->ended && k->rung->chosen && !k->plan->options.lines && input->lines >= MANY &&
           mean <= SHORT && input->longest <= LONGEST &&
           say(v, LIST, 0,
               "the text looks like a list: %s lines of %.1f characters on average. --lines "
               "makes each line a separate example.",
               grouped((double)input->lines), mean);
}

/* Returns true for a bigram that was trained, but not long enough to reach the loss of counting. */
static bool untrained(const Result *r, const Result *pairs) {
    const double near = 0.1;
    return strcmp(r->name, tril_rung(0)) == 0 && still_falling(r->course) &&
           r->validation > pairs->validation + near;
}

static bool judge_bigram(const Case *k, Verdict *v) {
    return untrained(k->result, k->pairs) &&
           say(v, NOT_COMPARABLE, 0,
               "%d steps were too few to learn the pairs (a loss of %.4f, but counting them gives "
               "%.4f). Compare other models with the counted bigram, the same table without "
               "training.",
               k->course->steps, k->result->validation, k->pairs->validation);
}

/* Returns the counted n-gram if the result is compared with it: not in a ladder, whose table shows
 * its loss, nor if the model counts itself; else NULL. */
static const Result *counts_of(const Case *k) {
    return k->plan->ladder || strcmp(k->rung->name, "ngram") == 0 ? NULL : k->ngram;
}

static bool judge_counts(const Case *k, Verdict *v) {
    const double is = k->result->validation;
    const Result *counts = counts_of(k);
    if (!counts) return false;
    if (is >= k->counted->validation && k->counted->validation < counts->validation)
        return say(v, COUNTED, 0,
                   "no better than %s%s, which needs no training (a loss of %.4f, against %.4f).",
                   the(k->counted), k->counted->name, is, k->counted->validation);
    if (is < counts->validation)
        return say(v, COUNTED, 0,
                   "better than only counting what follows the last %d characters (a loss of %.4f, "
                   "against %.4f).",
                   counts->order - 1, is, counts->validation);
    return say(
        v, COUNTED, 0,
        "counting what follows the last %d characters gives a loss of %.4f on the same text, "
        "without any training. --model ngram starts from these counts and learns what they "
        "miss.",
        counts->order - 1, counts->validation);
}

/* A model that counts begins with the loss of its counts. */
static bool judge_ngram(const Case *k, Verdict *v) {
    return k->ngram && strcmp(k->rung->name, "ngram") == 0 &&
           k->result->validation >= k->ngram->validation &&
           say(v, still_falling(k->course) ? TOO_FEW_STEPS : COUNTED, 0,
               "not below its counts (a loss of %.4f, against %.4f): its text comes from counting; "
               "the network has learned nothing yet.",
               k->result->validation, k->ngram->validation);
}

/* In a ladder, explains a loss that is higher than the previous rung's by more than chance: the
 * larger model has learned the training text by heart if its loss fell no longer, or if it predicts
 * the training text better; else it needs more steps. */
static bool judge_order(const Case *k, Verdict *v) {
    const double chance = 0.01, is = k->result->validation;
    const Result *below = k->below;
    char options[LONGER_SIZE];
    if (!k->plan->ladder || !k->course->ended || strcmp(k->rung->name, tril_rung(0)) == 0 ||
        is <= below->validation + chance)
        return false;
    if (k->course->since_lowest > 0 || k->result->train < below->train)
        return say(
            v, OVERFITTING, k->course->lowest.step,
            "the loss, %.4f, is above that of %s%s, %.4f: the model learns the training text "
            "by heart (training loss %.4f). A longer text helps.",
            is, the(below), below->name, below->validation, k->course->last.loss);
    return say(
        v, NOT_COMPARABLE, 0,
        "the loss, %.4f, is not yet below that of %s%s, %.4f: %d steps are too few to compare. "
        "Train longer: %s, for example.",
        is, the(below), below->name, below->validation, k->course->steps,
        longer(k->plan, k->course, MUCH, options));
}

/* Checks, in this order, whether the loss is no lower than counting at most pairs, or still
 * falling. Gives only the smaller estimate of the fall if a cosine lowers the rates, because the
 * loss may fall much further once the model learns more than pairs, or if the larger one would make
 * the loss negative. */
static bool judge_steps(const Case *k, Verdict *v) {
    char options[LONGER_SIZE], loss[32], counts[128] = "";
    const Plan *plan = k->plan;
    const Course *c = k->course;
    double is = k->result->validation;
    if (!still_falling(c)) return false;
    if (is >= k->counted->validation)
        return say(
            v, TOO_FEW_STEPS, 0,
            "no better than %s%s (a loss of %.4f, against %.4f), but the loss was still falling: %d "
            "steps are too few. Train longer: %s, for example.",
            the(k->counted), k->counted->name, is, k->counted->validation, c->steps,
            longer(plan, c, MUCH, options));
    if (twice_too_often(plan, c)) return false;
    double fall = course_fall(c, 0.3, 0.6), least = is - FALL_MIN * fall,
           most = is - FALL_MAX * fall;
    if (tril_rung_recipe(k->rung->name, NULL).cooldown != TRIL_COSINE && most > 0)
        snprintf(loss, sizeof loss, "%.2f to %.2f", most, least);
    else
        snprintf(loss, sizeof loss, "%.2f or lower", least);
    const Result *ngram = counts_of(k);
    if (ngram && is >= ngram->validation)
        snprintf(
            counts, sizeof counts,
            " Counting what follows the last %d characters gives %.4f: --model ngram starts from "
            "these counts.",
            ngram->order - 1, ngram->validation);
    return say(
        v, STILL_FALLING, 0,
        "the loss was still falling: with twice the %s it would be about %s instead of %.4f (%s).%s",
        !plan_has_time(plan)       ? "steps"
        : ended_by_epochs(plan, c) ? "epochs"
                                   : "time",
        loss, is, longer(plan, c, MORE, options), counts);
}

/* ---- the verdict ---- */

/* Sets the first verdict that applies. A baseline only has to be trained for long enough. */
static bool judge(const Case *k, Verdict *v) {
    if (k->rung->baseline) return judge_bigram(k, v);
    if (judge_rate(k, v) || judge_overfitting(k, v)) return true;
    const bool ended = k->counted && k->below; /* while the training runs, it is judged alone */
    return ended && !isnan(k->result->validation) &&
           (judge_text(k, v) || judge_bigram(k, v) || judge_list(k, v) || judge_ngram(k, v) ||
            judge_order(k, v) || judge_steps(k, v) || judge_counts(k, v));
}

void verdicts_judge(const Plan *plan, Result *results, int count) {
    Case k = {.plan = plan};
    for (Result *r = results; r < results + count; r++) {
        r->verdict.kind = NO_VERDICT;
        if (r->order > 0)
            k.ngram = k.ngram ? k.ngram : r;
        else if (!r->course && !(k.counted && k.counted->validation <= r->validation))
            k.counted = r;
        if (strcmp(r->name, "counted bigram") == 0) k.pairs = r;
        if (!r->course || r->course->kinds[1].seen == 0) continue;
        k.rung = plan_rung(plan, r->name);
        k.result = r;
        k.course = r->course;
        k.usual = plan_usual_rate(plan, k.rung);
        k.rate = plan_options(plan, k.rung).learning_rate;
        if (isnan(k.rate)) k.rate = k.usual;
        k.below = k.pairs && r[-1].course && !untrained(&r[-1], k.pairs) ? &r[-1] : k.pairs;
        judge(&k, &r->verdict);
    }
}

bool verdict_asks_for_more(const Result *result) {
    return result->verdict.kind >= NOT_COMPARABLE;
}

bool verdict_further(const Plan *plan, const Result *result, char options[LONGER_SIZE]) {
    const Course *c = result->course;
    const VerdictKind kind = result->verdict.kind;
    longer(plan, c, kind == NOT_COMPARABLE || kind == TOO_FEW_STEPS ? MUCH : MORE, options);
    return kind != NO_VERDICT && kind != LIST && kind != COUNTED
               ? verdict_asks_for_more(result)
               : c->since_lowest <= 0 && !twice_too_often(plan, c);
}
