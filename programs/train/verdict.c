#include "programs/train/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Plan *plan;
    const Input *input;
    const Result *results;
    int count;
    Verdict *verdicts;
    int said;
} Judge;

enum { LOSS_SIZE = 32 };

static const Result *find(const Judge *j, const char *name) {
    for (int i = 0; i < j->count; i++)
        if (strcmp(j->results[i].name, name) == 0) return &j->results[i];
    return NULL;
}

static const RungPlan *plan_of(const Judge *j, const Result *r) {
    int i = 0;
    while (strcmp(j->plan->rungs[i].name, r->name) != 0) i++;
    return &j->plan->rungs[i];
}

__attribute__((format(printf, 5, 6))) static void say(Judge *j, const Result *r, const char *name,
                                                      int step, const char *format, ...) {
    Verdict *v = &j->verdicts[j->said++];
    va_list arguments;
    *v = (Verdict){.rung = r->name, .name = name, .step = step};
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
}

/* Marks the last verdict: it asks for more steps. */
static bool asks_for_more(Judge *j) {
    j->verdicts[j->said - 1].longer = true;
    return true;
}

/* From about this length on, a text taught the default model more than pairs, in trials
 * (docs/training.md). */
enum { ENOUGH_CHARACTERS = 4000 };

/* ---- the learning rate ---- */

double verdict_lower_rate(const char *rung, double rate) {
    return fmin(tril_rung_recipe(rung).learning_rate, rate / 3);
}

/* The peak learning rate. */
static double peak_of(const RungPlan *rung) {
    double asked = rung->options.learning_rate;
    return asked > 0 ? asked : tril_rung_recipe(rung->name).learning_rate;
}

/* Does the rate of the plan equal or exceed one at which the training went wrong? If not, a person
 * has lowered it since. */
static bool still_as_high(const RungPlan *rung, double rate) {
    return peak_of(rung) >= 0.999 * rate;
}

/* Neither chance nor the text makes the mean training loss of a block rise that far. */
static bool rose(const Course *c) {
    const double far = 0.25, deviations = 4;
    return c->rise > fmax(far, deviations * sqrt(2) * c->floor.noise);
}

/* The peak rate, in usual ones; at HIGH times the usual one a training may fail. */
#define HIGH 3
static double times_usual(const RungPlan *rung) {
    return peak_of(rung) / tril_rung_recipe(rung->name).learning_rate;
}

/* With a rate above the usual one: the loss stays where it was while the rate is high, although the
 * model has not even learned the pairs. */
static bool stands_still(const Course *c, const RungPlan *rung, const Result *pairs) {
    const double fall = 0.2, above = 0.15;
    if (!c->ended || times_usual(rung) < HIGH) return false;
    double from = course_validation(c, 0.2 * c->steps), to = course_validation(c, 0.6 * c->steps);
    return from - to < fall && to > pairs->validation + above;
}

/* With such a rate, a result this bad has the rate as its first suspect. */
static bool suspect(const Course *c, const RungPlan *rung, const Result *r, const Result *pairs) {
    return c->ended && times_usual(rung) >= HIGH && r->validation >= pairs->validation;
}

/* A diverging loss has few digits. Returns `text`. */
static const char *loss_text(double loss, char text[LOSS_SIZE]) {
    const double huge = 1e6;
    snprintf(text, LOSS_SIZE, loss < huge ? "%.2f" : "%.3g", loss);
    return text;
}

static bool judge_rate(Judge *j, const Result *r) {
    enum { FEW = 3 };
    static const char name[] = "learning rate too high";
    const Course *c = r->course;
    const RungPlan *rung = plan_of(j, r);
    const Result *pairs = find(j, "counted bigram");
    char from[LOSS_SIZE], to[LOSS_SIZE];
    double rate = peak_of(rung), lower = verdict_lower_rate(r->name, rate);
    if (rose(c) && still_as_high(rung, c->rise_rate))
        say(j, r, name, c->highest_rise.step,
            "the learning rate is too high: the training loss rose from %s to %s, at step %d. "
            "Try --lr %.2g instead of %.2g.",
            loss_text(c->rise_of, from), loss_text(c->highest_rise.mean, to), c->highest_rise.step,
            lower, rate);
    else if (c->spikes >= FEW && still_as_high(rung, c->spike_rate))
        say(j, r, name, c->spike_step,
            "the learning rate is too high: the training loss jumped %d times, at step %d from "
            "%s to %s. Try --lr %.2g instead of %.2g.",
            c->spikes, c->spike_step, loss_text(c->spike_of, from), loss_text(c->spike, to), lower,
            rate);
    else if (stands_still(c, rung, pairs))
        say(j, r, name, 0,
            "the learning rate is too high: the loss did not fall while the rate was at its peak. "
            "Try --lr %.2g instead of %.2g.",
            lower, rate);
    else if (suspect(c, rung, r, pairs))
        say(j, r, name, 0,
            "the learning rate is probably too high: it is %.3g times the usual one, and the "
            "result is worse than counting pairs (%.4f, and %.4f). Try --lr %.2g first; only then "
            "more steps.",
            times_usual(rung), r->validation, pairs->validation, lower);
    else
        return false;
    return true;
}

/* ---- overfitting ---- */

/* The training loss falls on, and the held-out loss has risen by `rise` since its lowest, twice at
 * least: once can be chance. The two are far apart. */
static bool parts(const Course *c, double rise) {
    const double apart = 0.2, fall = 0.02;
    const Evaluation *last = &c->list[c->count - 1];
    if (c->count < 2 || last[-1].step <= c->lowest_step) return false;
    double from = isnan(c->lowest_loss) ? c->list[1].loss : c->lowest_loss;
    return fmin(last[-1].validation, last->validation) > c->lowest + rise &&
           last->validation - last->loss > apart && from - last->loss > fall;
}

/* At the end even a small rise tells, and if the training text is known by heart, none at all. */
static bool memorised(const Result *r) {
    const double rise = 0.01, by_heart = 0.25;
    return parts(r->course, rise) ||
           (parts(r->course, 0) && r->validation - r->train > by_heart * r->validation);
}

static bool judge_overfitting(Judge *j, const Result *r) {
    const double rise = 0.03;
    const Course *c = r->course;
    const Evaluation *last = &c->list[c->count - 1];
    if (!(c->ended ? memorised(r) : parts(c, rise))) return false;
    say(j, r, "overfitting", c->lowest_step,
        "overfitting since step %d: the model learns the training text by heart (training loss "
        "%.2f), and the held-out loss does not fall any more (%.4f then, now %.4f). The model of "
        "step %d is kept.%s",
        c->lowest_step, last->loss, c->lowest, last->validation, c->lowest_step,
        c->ended ? " A longer text helps most; then a smaller model, or more --dropout." : "");
    return true;
}

/* ---- too little ---- */

static double epochs_of(const Judge *j, const Result *r) {
    return r->course->characters / (double)j->input->train;
}

/* With twice the steps the loss fell by FALL_MIN to FALL_MAX times what it fell between 0.3 and 0.6
 * of the steps: in trials that trained twice as long (docs/training.md). */
#define FALL_MIN 0.4
#define FALL_MAX 0.8

static double fall_of(const Course *c) {
    return course_fall(c, 0.3, 0.6);
}

/* A loss too near 0 to fall as far as that has stopped falling by itself. */
bool verdict_still_falling(const Course *c) {
    const double worth = 0.02;
    if (!c || !c->ended || c->since_lowest > 0) return false;
    double fall = fall_of(c);
    return fall * (FALL_MIN + FALL_MAX) / 2 > worth && fall * FALL_MIN < c->lowest;
}

/* By the clock: did the training end because it had seen the text Plan.epochs times? Then more time
 * alone changes nothing. */
static bool ended_by_epochs(const Judge *j, const Result *r) {
    const Plan *plan = j->plan;
    double next = r->course->characters + plan_step_characters(plan);
    return plan->time > 0 && plan->epochs > 0 && next > plan->epochs * (double)j->input->train;
}

/* How to train longer: in the words of the command line. */
static void write_longer(const Judge *j, const Result *r, double times, char text[LONGER_SIZE]) {
    const Plan *plan = j->plan;
    if (ended_by_epochs(j, r))
        snprintf(text, LONGER_SIZE, "--time %.0f --epochs %g", times * plan->time,
                 times * plan->epochs);
    else if (plan->time > 0)
        snprintf(text, LONGER_SIZE, "--time %.0f", times * plan->time);
    else
        snprintf(text, LONGER_SIZE, "--steps %.0f", times * plan->steps);
}

/* Of pairs, single characters, and uniform chances: those of a very short text can be the better
 * ones. */
static double best_counted(const Judge *j) {
    double best = INFINITY;
    for (int i = 0; i < j->count; i++)
        if (j->results[i].seconds < 0) best = fmin(best, j->results[i].validation);
    return best;
}

/* A short text that was seen often, without getting below what counting finds, is too short. */
static bool judge_text(Judge *j, const Result *r) {
    const double often = 10, below = 0.05; /* nearer to 0, there is nothing left to learn */
    if (!r->course->ended || j->input->length >= ENOUGH_CHARACTERS || epochs_of(j, r) < often ||
        r->validation < fmax(below, best_counted(j) - below))
        return false;
    say(j, r, "text too short", 0,
        "the text is too short to learn more than pairs of characters from: %zu characters, seen "
        "%.0f times. From about %d on, a model learns more. Take a longer text, or begin with a "
        "trained model: --init MODEL.",
        j->input->length, epochs_of(j, r), ENOUGH_CHARACTERS);
    return true;
}

static bool judge_steps(Judge *j, const Result *r) {
    const double times = 4;
    const Result *pairs = find(j, "counted bigram");
    char longer[LONGER_SIZE];
    if (!verdict_still_falling(r->course) || r->validation < pairs->validation) return false;
    write_longer(j, r, times, longer);
    say(j, r, "too few steps", 0,
        "worse than counting pairs (%.4f, and %.4f), and still falling: %d steps are too few. "
        "Train longer: %s, for example.",
        r->validation, pairs->validation, r->course->steps, longer);
    return asks_for_more(j);
}

/* Would twice the steps show the text more often than helps? */
static bool twice_too_often(const Judge *j, const Result *r) {
    const double margin = 1.25;
    double help = tril_epochs_that_help((double)j->input->train, j->plan->files->init != NULL);
    return 2 * epochs_of(j, r) > margin * help;
}

/* Where a cosine lowers the rates, the loss may fall much further, when the model first learns more
 * than pairs: then only the least is said. So it is where the most would be below 0. */
static bool judge_falling(Judge *j, const Result *r) {
    double fall = fall_of(r->course);
    double least = r->validation - FALL_MIN * fall, most = r->validation - FALL_MAX * fall;
    if (!verdict_still_falling(r->course) || twice_too_often(j, r)) return false;
    char longer[LONGER_SIZE], loss[32];
    write_longer(j, r, 2, longer);
    if (tril_rung_recipe(r->name).cooldown > 0 && most > 0)
        snprintf(loss, sizeof loss, "%.2f to %.2f", most, least);
    else
        snprintf(loss, sizeof loss, "%.2f or lower", least);
    say(j, r, "still falling", 0,
        "still falling: with twice the %s the loss would be about %s instead of %.2f (%s).",
        j->plan->time <= 0      ? "steps"
        : ended_by_epochs(j, r) ? "epochs"
                                : "time",
        loss, r->validation, longer);
    return asks_for_more(j);
}

/* ---- comparisons ---- */

static bool is_bigram(const Result *r) {
    return strcmp(r->name, tril_rung(0)) == 0;
}

/* Is it the trained bigram, without the time to learn what counting finds? */
static bool untrained(const Result *r, const Result *pairs) {
    const double near = 0.1;
    return is_bigram(r) && verdict_still_falling(r->course) &&
           r->validation > pairs->validation + near;
}

static bool judge_bigram(Judge *j, const Result *r) {
    const Result *pairs = find(j, "counted bigram");
    if (!untrained(r, pairs)) return false;
    say(j, r, "not comparable", 0,
        "%d steps were too few to learn what counting finds (%.4f, and %.4f): compare with the "
        "counted bigram, which is the same table.",
        r->course->steps, r->validation, pairs->validation);
    return asks_for_more(j);
}

/* The rung that this one should beat: the one before it; the counted bigram instead of the trained
 * one that is not as good. */
static const Result *rung_below(const Judge *j, const Result *r) {
    const Result *pairs = find(j, "counted bigram");
    return r[-1].seconds < 0 || untrained(&r[-1], pairs) ? pairs : &r[-1];
}

/* In a ladder. */
static bool judge_order(Judge *j, const Result *r) {
    const double times = 4;
    const Result *below = rung_below(j, r);
    char longer[LONGER_SIZE];
    if (!j->plan->ladder || is_bigram(r) || !verdict_still_falling(r->course) ||
        r->validation < below->validation)
        return false;
    write_longer(j, r, times, longer);
    say(j, r, "not comparable", 0,
        "not below %s yet (%.4f, and %.4f), and still falling after %d steps: this says nothing "
        "about its idea. Train longer: %s, for example.",
        below->name, r->validation, below->validation, r->course->steps, longer);
    return asks_for_more(j);
}

/* ---- all ---- */

/* At most two, the first of each group. A baseline, which nobody asked for, need only be a fair
 * one. */
static void judge(Judge *j, const Result *r) {
    if (r->seconds < 0 || !r->course || r->course->count == 0) return;
    if (plan_of(j, r)->baseline) {
        judge_bigram(j, r);
        return;
    }
    bool wrong = judge_rate(j, r) || judge_overfitting(j, r);
    if (wrong || isnan(r->validation)) return;
    (void)(judge_text(j, r) || judge_bigram(j, r) || judge_order(j, r) || judge_steps(j, r) ||
           judge_falling(j, r));
}

int verdicts_of(const Plan *plan, const Input *input, const Result *results, int count,
                Verdict verdicts[MAX_VERDICTS]) {
    Judge j = {plan, input, results, count, verdicts, 0};
    for (int i = 0; i < count; i++) judge(&j, &results[i]);
    return j.said;
}

/* ---- whether to train longer ---- */

static const Verdict *verdict_on(const Verdict *verdicts, int count, const char *rung) {
    for (int i = 0; i < count; i++)
        if (strcmp(verdicts[i].rung, rung) == 0) return &verdicts[i];
    return NULL;
}

bool verdict_asks_for_more(const Verdict *verdicts, int count, const char *rung) {
    const Verdict *v = verdict_on(verdicts, count, rung);
    return v && v->longer;
}

bool verdict_further(const Plan *plan, const Input *input, const Result *result,
                     const Verdict *verdicts, int count, char options[LONGER_SIZE]) {
    const Judge j = {.plan = plan, .input = input};
    const Verdict *v = verdict_on(verdicts, count, result->name);
    bool settled = result->course->since_lowest > 0 || twice_too_often(&j, result);
    if (v ? !v->longer : settled) return false;
    write_longer(&j, result, 2, options);
    return true;
}
