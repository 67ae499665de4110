#include "programs/train/ladder.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/world.h"
#include "programs/common.h"
#include "programs/train/budget.h"
#include "programs/train/display.h"
#include "programs/train/interruption.h"
#include "programs/train/report.h"
#include "programs/train/trainer.h"
#include "programs/train/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Adds the results that need no training. */
static void add_closed_forms(Ladder *l) {
    const Plan *plan = l->plan;
    const TrilCounts c = plan->counts;
    const bool sampled = plan_counts_part(plan) && plan->counted < plan_held_out(plan);
    snprintf(l->ngram[0], sizeof *l->ngram, "counted %d-gram", c.order);
    snprintf(l->ngram[1], sizeof *l->ngram, "running %d-gram", c.order);
    const Result forms[CLOSED_FORMS] = {
        [UNIFORM] = {.name = "uniform", .train = c.uniform, .validation = c.uniform},
        [UNIGRAM] = {.name = "counted unigram", .train = c.own_unigram, .validation = c.unigram},
        [PAIRS] = {.name = "counted bigram", .train = c.own_bigram, .validation = c.bigram},
        [NGRAM] = {.name = l->ngram[0], .train = c.own_ngram, .validation = c.ngram},
        [RUNNING] = {.name = l->ngram[1], .train = c.own_running, .validation = c.running}};
    for (; l->count < CLOSED_FORMS; l->count++) {
        l->results[l->count] = forms[l->count];
        l->results[l->count].now.operations = NAN;
        l->results[l->count].sampled = sampled && l->count > UNIFORM;
    }
}

/* ---- selection ---- */

/* Returns true if a rung needs no more training, because its result is known. If steps are planned,
 * a requested rung needs exactly these, a baseline at least these. If a time limit is planned, a
 * requested rung needs one at least as long; a baseline, any time limit or BASELINE_STEPS. */
static bool is_complete(const Plan *plan, const RungPlan *rung) {
    const Result *r = rung->known;
    if (!r || rung->resumed) return false;
    const double steps = r->characters / plan_step_characters(plan),
                 more = steps - plan->options.steps, same = 0.5;
    if (plan_has_time(plan))
        return rung->baseline ? r->time > 0 || steps >= BASELINE_STEPS
                              : r->time >= plan->options.time;
    return rung->baseline ? more > -same : r->time <= 0 && fabs(more) < same;
}

/* Returns false if the checkpoint of a complete rung is of another training run: of one that began
 * to train the rung for longer, and was stopped. */
static bool has_result(const RungPlan *rung) {
    const double same = 1e-6;
    TrilModel *kept;
    if (tril_model_load(&kept, rung->checkpoint, &(TrilError){0}) != TRIL_OK) return true;
    const double loss = tril_model_loss(kept);
    tril_model_free(kept);
    return !(fabs(loss - rung->known->best) > same);
}

/* ---- training ---- */

/* Adds the result of a rung, which begins as `known`, if that is not NULL. */
static Result *add_result(Ladder *l, const RungPlan *rung, const Result *known) {
    static const Result new = {.train = NAN, .validation = NAN, .best = INFINITY};
    Course *course = &l->courses[l->count];
    Result *result = &l->results[l->count++];
    *result = known ? *known : new;
    result->name = rung->name;
    result->rung = rung;
    result->course = course;
    return result;
}

/* Adds the result of a complete rung, with the course from its log, if that still exists. */
static void add_known(Ladder *l, const RungPlan *rung) {
    Result *result = add_result(l, rung, rung->known);
    Course *course = &l->courses[result - l->results];
    course_read(course, rung->log);
    result->now.operations = course->row.step > 0 ? course->row.compute : NAN;
}

/* Prints the results that the table lacks. Without --ladder it has fewer closed forms. */
static void show_known(Ladder *l) {
    const Plan *plan = l->plan;
    verdicts_judge(l);
    if (l->shown == 0) show_head();
    for (; l->shown < l->count; l->shown++) {
        const bool extra = l->shown == UNIGRAM || l->shown == RUNNING;
        if (plan->ladder || !extra) show_result(&l->results[l->shown]);
    }
}

/* Trains the rungs that are not complete. Under a time limit each gets the share of the seconds
 * left in which it takes as many steps as the later ones, and some to spare, for the speed may be
 * lower than measured; the time that it does not need is left for the later ones. A baseline needs
 * few steps. */
static bool train_rungs(Ladder *l, Error *err) {
    const double min = 0.1, spare = 0.05; /* seconds; a share of those that are left */
    const Plan *plan = l->plan;
    bool keeps_state = !plan->resumed; /* that of a later rung is worth more than this one's */
    double earlier = 0;                /* seconds of complete rungs */
    const bool shows_rows = plan->ladder && !plan->arguments->profile && !plan->arguments->quiet;
    if (shows_rows) show_known(l);
    for (int i = 0; i < plan->rung_count; i++) {
        if (l->count > CLOSED_FORMS && world_first(interrupted())) break;
        const RungPlan *rung = &plan->rungs[i];
        keeps_state = keeps_state || rung->resumed;
        if (rung->left_out) continue;
        if (is_complete(plan, rung) && world_first(has_result(rung))) {
            add_known(l, rung);
            earlier += rung->known->seconds;
        } else {
            report_next(l, rung);
            add_result(l, rung, rung->resumed ? rung->known : NULL);
            double seconds = plan_has_time(plan) ? fmax(min, plan_left(plan) - earlier) : 0;
            seconds = fmin(seconds, budget_share(plan, rung, seconds) +
                                        (rung->baseline ? 0 : spare * seconds));
            if (!train_rung(l, rung, seconds, keeps_state, err)) return false;
        }
        if (shows_rows) show_known(l);
    }
    return true;
}

/* ---- the comparison ---- */

static void add_figure(Buffer *table, const char *end, int digits, double figure) {
    char text[NUMBER_SIZE];
    number_write(text, sizeof text, 'f', digits, figure);
    buffer_printf(table, "%s%s", isnan(figure) ? "" : text, end);
}

static Buffer table_of(const Ladder *l, Error *err) {
    Buffer table = buffer_begin(l->plan->table, err);
    buffer_printf(&table, "model,parameters,train_loss,val_loss,bits_per_char,seconds,tflop\n");
    for (int i = 0; i < l->count; i++) {
        const Result *r = &l->results[i];
        buffer_printf(&table, "%s,%zu,", r->name, r->parameters);
        add_figure(&table, ",", 6, r->train);
        add_figure(&table, ",", 6, r->validation);
        add_figure(&table, ",", 6, r->validation / log(2.0));
        add_figure(&table, ",", 3, r->seconds);
        add_figure(&table, "\n", 6, r->now.operations / TERA);
    }
    return table;
}

/* Writes the page and, with --ladder, the table. */
static bool write_results(Ladder *l, Error *err) {
    const char *path = l->plan->table;
    const bool page = report_end(l, NULL, err);
    if (!l->plan->ladder) return page;
    Buffer table = table_of(l, err);
    const bool ok = !table.failed && folder_hold(l->plan->folder, err) &&
                    file_write(path, &(FilePart){table.bytes, table.length}, 1, err);
    buffer_end(&table);
    return ok && page;
}

/* Names of rungs, separated by commas. */
typedef struct {
    char text[MAX_RUNGS * 16];
    int count;
} Names;

static void add_name(Names *names, const char *name) {
    const size_t length = strlen(names->text);
    snprintf(names->text + length, sizeof names->text - length, "%s%s", names->count++ ? ", " : "",
             name);
}

/* Prints the verdicts: one line for all rungs of a ladder that took too few steps. */
static void show_verdicts(const Ladder *l) {
    const Result *last = NULL;
    Names names = {.count = 0};
    for (const Result *r = l->results; r < l->results + l->count; r++) {
        const VerdictKind kind = r->verdict.kind;
        if (l->plan->ladder && kind == TOO_SHORT) {
            add_name(&names, r->name);
            last = r;
        } else if (kind != NO_VERDICT && !(l->plan->ladder && kind == STILL_FALLING)) {
            show_line("%s: %s", r->name, r->verdict.text); /* the table marks those that fall */
        }
    }
    if (names.count == 1) show_line("%s: %s", names.text, last->verdict.text);
    if (names.count > 1)
        show_line("%s: not yet below the row before or the counted bigram, after too few steps; "
                  "try %s.",
                  names.text, last->verdict.longer);
}

/* Names the rungs of a ladder whose time was over after far fewer steps than another one took: a
 * reader would take the loss that they lack for the rung's. */
static void show_slower(const Ladder *l) {
    const double few = 0.9;
    Names names = {.count = 0};
    double most = 0; /* characters */
    for (const Result *r = l->results; r < l->results + l->count; r++)
        if (r->rung && r->time > 0) most = fmax(most, r->characters);
    for (const Result *r = l->results; r < l->results + l->count; r++)
        if (r->rung && r->time > 0 && r->characters > 0 && r->characters < few * most)
            add_name(&names, r->name);
    if (names.count > 0)
        show_line("%s: there was time for fewer than the %s steps of another rung; these losses do "
                  "not compare.",
                  names.text, grouped(round(most / plan_step_characters(l->plan))));
}

/* Shows and writes the results. */
static bool compare(Ladder *l, Error *err) {
    const Plan *plan = l->plan;
    const Result *model = NULL, /* that of --model; before its training run, the last rung's */
        *best = NULL;           /* the lowest of the rungs */
    show_known(l);
    show_legend(plan, l->results, l->count);
    for (const Result *r = l->results + CLOSED_FORMS; r < l->results + l->count; r++) {
        if (!(model && model->rung->chosen)) model = r;
        if (!isnan(r->validation) && !(best && best->validation <= r->validation)) best = r;
    }
    show_verdicts(l);
    if (plan->ladder) show_slower(l);
    const bool written = write_results(l, err);
    const bool shown = show_next_steps(plan, model, plan->ladder ? best : NULL, written, err);
    if (*l->failed.text) return fail(err, "%s", l->failed.text); /* the first error */
    return written && shown;
}

bool ladder_train(Plan *plan, Error *err) {
    Ladder *l;
    char earlier[PATH_SIZE] = "";
    if (!memory_alloc(&l, 1, sizeof *l, "the results", err)) return false;
    l->plan = plan;
    add_closed_forms(l);
    interruption_catch(!plan->arguments->quiet); /* until now there was nothing to save */
    bool ok = plan->resumed || folder_begin(plan->folder, earlier, err);
    if (ok && *earlier) show_line("the earlier run is now in %s", earlier);
    ok = ok && report_open(l, err);
    if (ok) {
        ok = train_rungs(l, err);
        if (!ok) report_end(l, err, &(Error){0});
        ok = ok && compare(l, err);
        report_close(l);
    }
    memory_free(l);
    return ok;
}
