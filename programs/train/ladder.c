#include "programs/train/ladder.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "library/message.h"
#include "programs/train/display.h"
#include "programs/train/interruption.h"
#include "programs/train/report.h"
#include "programs/train/rung.h"
#include "programs/train/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSED_FORMS = 3, MAX_BASELINE_VOCABULARY = 8192 };

/* The lines of the table: the closed forms, then the rungs trained so far. */
typedef struct {
    Result list[CLOSED_FORMS + MAX_RUNGS];
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* of the rungs, by their places in the list */
    int count;
    Stopwatch watch; /* of the whole program, with --profile */
} Results;

/* Adds the lines that need no training. */
static bool add_closed_forms(const Input *input, Results *results, Error *err) {
    TrilCounts c;
    TrilError error;
    if (tril_text_count(input->text, &c, &error) != TRIL_OK) return message_take(err, &error, NULL);
    const struct {
        const char *name;
        double train, held_out;
    } forms[CLOSED_FORMS] = {{"uniform", c.uniform, c.uniform},
                             {"counted unigram", c.own_unigram, c.unigram},
                             {"counted bigram", c.own_bigram, c.bigram}};
    for (int i = 0; i < CLOSED_FORMS; i++)
        results->list[i] = (Result){.name = forms[i].name,
                                    .train = forms[i].train,
                                    .validation = forms[i].held_out,
                                    .compute = NAN,
                                    .seconds = -1};
    results->count = CLOSED_FORMS;
    return true;
}

/* ---- which rungs ---- */

/* The index of the state's rung in the plan; plan->rung_count if there is no state. */
static int place_of_state(const Plan *plan, const Start *start) {
    int i = 0;
    if (!start->resumed) return plan->rung_count;
    const char *rung = tril_state_options(start->saved.state).rung;
    while (i < plan->rung_count && strcmp(plan->rungs[i].name, rung) != 0) i++;
    return i;
}

static const Result *result_of(const Saved *saved, const char *name) {
    for (int i = 0; i < saved->result_count; i++)
        if (strcmp(saved->results[i].name, name) == 0) return &saved->results[i];
    return NULL;
}

/* The result of a rung that is complete: trained before, on the same number of steps or, by the
 * clock, on as much time; a baseline on more steps, too, or on any time. Else NULL. */
static const Result *complete(const Plan *plan, const RungFiles *rung, const Start *start) {
    const Result *r = start->resumed ? result_of(&start->saved, rung->name) : NULL;
    if (!r) return NULL;
    double min = rung->baseline ? 1 : plan_time(plan);
    double more = r->characters - plan->options.steps * plan_step_characters(plan);
    bool same = plan_has_time(plan) ? r->time >= min
                : rung->baseline    ? more > -1
                                    : r->time <= 0 && fabs(more) < 1;
    return same ? r : NULL;
}

/* A training that began without its baseline continues without it. `place` is the index of the
 * state's rung. */
static bool began_without(const Plan *plan, const RungFiles *rung, const Start *start, int place) {
    return start->resumed && rung != &plan->rungs[place] && !result_of(&start->saved, rung->name);
}

static bool too_large(const Input *input) {
    return input->vocabulary > MAX_BASELINE_VOCABULARY;
}

/* A baseline is not worth gigabytes: the counted bigram says the same. And a model that begins
 * trained is compared with its own first loss. */
static bool leaves_out(const Plan *plan, const RungFiles *rung, const Input *input,
                       const Start *start, int place) {
    return rung->baseline &&
           (too_large(input) || plan->files->init || began_without(plan, rung, start, place));
}

/* Refused: less training than the rung of the state has had. */
static bool check_state_budget(const Plan *plan, const Saved *saved, Error *err) {
    double seconds = saved->progress.seconds;
    int steps = tril_state_progress(saved->state).step;
    if (plan_has_time(plan) && seconds > plan_time(plan) + 1)
        return fail(err, "%s: %.0f seconds have been spent, more than --time %.0f",
                    plan->files->state, seconds, plan_time(plan));
    if (!plan_has_time(plan) && steps > plan->options.steps)
        return fail(err, "%s: %d steps have been taken, more than --steps %g", plan->files->state,
                    steps, plan->options.steps);
    return true;
}

/* The same of the rungs before it. They would be trained anew, and worse models would replace
 * theirs. A baseline may have had more: `complete` keeps it. */
static bool check_result_budget(const Plan *plan, const Saved *saved, Error *err) {
    double each = plan_step_characters(plan);
    for (int i = 0; i < plan->rung_count; i++) {
        const Result *r = result_of(saved, plan->rungs[i].name);
        if (!r || plan->rungs[i].baseline) continue;
        if (plan_has_time(plan) && r->time <= 0 && r->seconds > plan_time(plan) + 1)
            return fail(err, "%s: %s was trained for %.0f seconds, more than --time %.0f",
                        plan->files->state, r->name, r->seconds, plan_time(plan));
        if (!plan_has_time(plan) && r->characters > plan->options.steps * each + 1)
            return fail(err, "%s: %s was trained for %.0f steps, more than --steps %g",
                        plan->files->state, r->name, r->characters / each, plan->options.steps);
    }
    return true;
}

/* A training that goes on gets no less than it had. */
static bool check_budget(const Plan *plan, const Start *start, Error *err) {
    return !start->resumed || (check_state_budget(plan, &start->saved, err) &&
                               check_result_budget(plan, &start->saved, err));
}

/* Before hours of training: is there enough memory for each rung? */
static bool check_memory(const Plan *plan, const Input *input, Start *start, Error *err) {
    int place = place_of_state(plan, start);
    for (int i = 0; i < plan->rung_count; i++) {
        const RungFiles *rung = &plan->rungs[i];
        const TrilOptions options = plan_options(plan, rung);
        TrilError error;
        if (!leaves_out(plan, rung, input, start, place) &&
            tril_training_fits(&options, input->text, i == place, &error) != TRIL_OK)
            return message_take(err, &error, NULL);
    }
    return true;
}

/* ---- training ---- */

/* The seconds of a rung: an equal share of those that are `left` for it and the rungs after it,
 * `rungs` in all; a baseline needs few, and ends when it had its steps. 0 if steps count. */
static double seconds_for(const Plan *plan, const RungFiles *rung, double left, int rungs) {
    const double min = 0.1, most = 0.1; /* seconds; the largest share of a baseline */
    if (!plan_has_time(plan)) return 0;
    if (left < min) left = min;
    return rung->baseline ? most * left : left / rungs;
}

/* Adds the line of a rung that is complete. How it went, its log still knows, unless somebody
 * removed that. */
static void add_known(Results *results, const RungFiles *rung, const Result *known) {
    Result *result = &results->list[results->count];
    Course *course = &results->courses[results->count++];
    course_read(course, rung->log);
    course->ended = true;
    *result = *known;
    result->course = course;
    result->compute = course->steps > 0 ? course->compute : NAN;
}

static bool train_rungs(const Plan *plan, const Input *input, Outputs *outputs, Start *start,
                        Results *results, Report *report, Error *failed, Error *err) {
    const int rungs = plan->rung_count, place = place_of_state(plan, start);
    double earlier = 0; /* seconds of complete rungs */
    for (int i = 0; i < rungs && (results->count == CLOSED_FORMS || !interrupted()); i++) {
        const RungFiles *rung = &plan->rungs[i];
        if (leaves_out(plan, rung, input, start, place)) {
            if (!plan->arguments->quiet && too_large(input))
                show_line("\n%s: skipped: %d characters make its table too large", rung->name,
                          input->vocabulary);
            continue;
        }
        const Result *known = complete(plan, rung, start);
        if (known) {
            add_known(results, rung, known);
            earlier += known->seconds;
            continue;
        }
        stopwatch_enter(&results->watch, "the page");
        report_next(report, rung, results->count);
        stopwatch_leave(&results->watch);
        double left = plan_time(plan) - earlier - (clock_seconds() - plan->arguments->begun);
        const Task task = {
            .plan = plan,
            .rung = rung,
            .input = input,
            .outputs = outputs,
            .report = report,
            .course = &results->courses[results->count],
            .init = rung->chosen ? start->init : NULL,
            .seconds = seconds_for(plan, rung, left, rungs - i),
            /* the existing state of a later rung is worth more than the state of this one */
            .keeps_state = i >= place || place == rungs,
            .results = results->list + CLOSED_FORMS,
            .result_count = results->count - CLOSED_FORMS,
            .failed = failed};
        Saved *from = i == place ? &start->saved : NULL;
        stopwatch_enter(&results->watch, rung->name);
        if (!train_rung(&task, from, &results->list[results->count], err)) return false;
        stopwatch_leave(&results->watch);
        results->count++;
    }
    return true;
}

/* ---- the comparison ---- */

static void print_figure(FILE *out, const char *end, int digits, double figure) {
    char text[NUMBER_SIZE];
    number_write(text, sizeof text, 'f', digits, figure);
    fprintf(out, "%s%s", isnan(figure) ? "" : text, end);
}

static bool print_table(FILE *out, void *what, Error *err) {
    const Results *results = what;
    (void)err;
    fputs(TABLE_HEADING, out);
    for (int i = 0; i < results->count; i++) {
        const Result *r = &results->list[i];
        fprintf(out, "%s,%zu,", r->name, r->parameters);
        print_figure(out, ",", 6, r->train);
        print_figure(out, ",", 6, r->validation);
        print_figure(out, ",", 6, r->validation / log(2.0));
        print_figure(out, ",", 3, r->seconds < 0 ? 0 : r->seconds);
        print_figure(out, "\n", 6, r->compute / TERA);
    }
    return true;
}

/* Writes the page and, of a --ladder, the table after it, which the page names. */
static bool write_results(const Plan *plan, Outputs *outputs, Results *results, Report *report,
                          Error *err) {
    const char *path = plan->files->table;
    char *table = NULL;
    size_t length = 0;
    Error page_failed;
    bool ok = !plan->ladder || file_text(&table, &length, path, print_table, results, err);
    if (table) outputs_next_table(outputs, tril_digest(table, length));
    stopwatch_enter(&results->watch, "the page");
    bool page = report_end(report, results->count, NULL, &page_failed);
    stopwatch_leave(&results->watch);
    ok = ok && (!table || file_write(path, &(FilePart){table, length}, 1, err));
    free(table);
    if (!ok) return false;
    if (plan->ladder) show_line("\nThe table is also in %s.", path);
    return page || fail(err, "%s", page_failed.text);
}

/* The result of --model; NULL if its training has not begun. */
static const Result *result_of_model(const Plan *plan, const Results *results) {
    for (int i = CLOSED_FORMS; i < results->count; i++)
        if (strcmp(results->list[i].name, plan->options.rung) == 0) return &results->list[i];
    return NULL;
}

/* Shows and writes the results. */
static bool compare(const Plan *plan, const Input *input, Outputs *outputs, Results *results,
                    Report *report, const Error *failed, Error *err) {
    Verdict verdicts[MAX_RUNGS];
    char longer[LONGER_SIZE];
    const Result *model = result_of_model(plan, results);
    int count = verdicts_of(plan, input, results->list, results->count, verdicts);
    bool further = model && verdict_further(plan, input, model, verdicts, count, longer);
    show_results(results->list, results->count, verdicts, count);
    for (int i = 0, shown = 0; i < count && !plan->arguments->quiet; i++)
        if (!plan->ladder || verdicts[i].kind != STILL_FALLING) /* the table marks these */
            show_line("%s%s: %s", shown++ > 0 ? "" : "\n", verdicts[i].rung, verdicts[i].text);
    bool written = write_results(plan, outputs, results, report, err);
    stopwatch_stop(&results->watch, "the program");
    show_next_steps(plan, model, written, further ? longer : NULL);
    return *failed->text ? fail(err, "%s", failed->text) : written; /* the training's files first */
}

static bool train_with_report(const Plan *plan, const Input *input, Outputs *outputs, Start *start,
                              Results *results, Error *err) {
    Report *report;
    char where[PATH_SIZE];
    Error failed = {0};
    const Saved *saved = start->resumed ? &start->saved : NULL;
    if (!outputs_make_way(outputs, plan, saved, where, err)) return false;
    if (*where) show_line("existing files were moved to %s", where);
    if (!report_open(&report, plan, input, outputs, results->list, err)) return false;
    bool ok = train_rungs(plan, input, outputs, start, results, report, &failed, err);
    if (ok)
        ok = compare(plan, input, outputs, results, report, &failed, err);
    else
        report_end(report, results->count, err, &(Error){0});
    report_close(report);
    return ok;
}

bool ladder_train(const Plan *plan, const Input *input, Outputs *outputs, Start *start,
                  Error *err) {
    Results *results;
    if (!check_budget(plan, start, err) || !check_memory(plan, input, start, err) ||
        !memory_alloc(&results, 1, sizeof *results, "the results", err))
        return false;
    if (plan->arguments->profile)
        stopwatch_start(&results->watch, "the rest", plan->arguments->begun);
    bool ok = add_closed_forms(input, results, err) &&
              train_with_report(plan, input, outputs, start, results, err);
    memory_free(results);
    return ok;
}
