#include "training/ladder.h"
#include "base/clock.h"
#include "base/escape.h"
#include "report/textfile.h"
#include "training/display.h"
#include "training/interruption.h"
#include "training/next_steps.h"
#include "training/report_data.h"
#include "training/rung.h"
#include "training/sizes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLOSED_FORMS = 3, MAX_BASELINE_VOCABULARY = 8192 };

/* The lines of the table: the closed forms, then the rungs trained so far. */
typedef struct {
    Result list[CLOSED_FORMS + MAX_RUNGS];
    int count;
} Results;

/* Adds the lines that need no training. */
static bool add_closed_forms(const Corpus *corpus, Results *results, Error *err) {
    Counts c;
    if (!count_losses(corpus->ids, corpus->train, corpus->ids + corpus->train,
                      corpus->length - corpus->train, corpus->vocab.size, &c, err))
        return false;
    Result forms[CLOSED_FORMS] = {
        {"uniform", 0, c.uniform, c.uniform, -1, 0, 0},
        {"counted unigram", 0, c.unigram, c.unigram_held_out, -1, 0, 0},
        {"counted bigram", 0, c.bigram, c.bigram_held_out, -1, 0, 0},
    };
    memcpy(results->list, forms, sizeof forms);
    results->count = CLOSED_FORMS;
    return true;
}

/* ---- which rungs ---- */

/* The index of the state's rung in the plan; plan->rung_count if there is no state. */
static int place_of_state(const Plan *plan, const Start *start) {
    int i = start->resumed ? 0 : plan->rung_count;
    while (i < plan->rung_count &&
           strcmp(plan->rungs[i].name, start->state.checkpoint.model.config.model) != 0)
        i++;
    return i;
}

static const Result *result_of(const State *state, const char *name) {
    for (int i = 0; i < state->result_count; i++)
        if (strcmp(state->results[i].name, name) == 0) return &state->results[i];
    return NULL;
}

/* The result of a rung that is complete: trained before, on the same number of steps or, by the
 * clock, on as much time; a baseline on any time. Else NULL. */
static const Result *complete(const Plan *plan, const RungPlan *rung, const Start *start) {
    const Result *r = start->resumed ? result_of(&start->state, rung->name) : NULL;
    if (!r) return NULL;
    double min = rung->baseline ? 1 : plan->time;
    double characters = plan->steps * plan_step_characters(plan);
    bool same =
        plan->time > 0 ? r->time >= min : r->time <= 0 && fabs(r->characters - characters) < 1;
    return same ? r : NULL;
}

/* A training that began without its baseline continues without it. `place` is the index of the
 * state's rung. */
static bool began_without(const Plan *plan, const RungPlan *rung, const Start *start, int place) {
    return start->resumed && rung != &plan->rungs[place] && !result_of(&start->state, rung->name);
}

static bool too_large(const Corpus *corpus) {
    return corpus->vocab.size > MAX_BASELINE_VOCABULARY;
}

/* A baseline is not worth gigabytes: the counted bigram says the same. And a model that begins
 * trained is compared with its own first loss. */
static bool leaves_out(const Plan *plan, const RungPlan *rung, const Corpus *corpus,
                       const Start *start, int place) {
    return rung->baseline &&
           (too_large(corpus) || plan->files->init || began_without(plan, rung, start, place));
}

/* Before hours of training: is there enough memory for each rung? */
static bool check_memory(const Plan *plan, const Corpus *corpus, const Start *start, Error *err) {
    int place = place_of_state(plan, start);
    for (int i = 0; i < plan->rung_count; i++) {
        const RungPlan *rung = &plan->rungs[i];
        Sizes sizes = {rung->config, plan->run.batch};
        if (!leaves_out(plan, rung, corpus, start, place) &&
            !sizes_fit(&sizes, &plan->run, corpus, i == place, err))
            return false;
    }
    return true;
}

/* ---- training ---- */

/* The seconds of a rung: an equal share of those that are `left` for it and the rungs after it,
 * `rungs` in all; a baseline needs few. 0 if steps count. */
static double seconds_for(const Plan *plan, const RungPlan *rung, double left, int rungs) {
    const double enough = 2, min = 0.1;
    if (plan->time <= 0) return 0;
    if (left < min) left = min;
    if (!rung->baseline) return left / rungs;
    return left / 20 < enough ? left / 20 : enough;
}

static bool train_rungs(const Plan *plan, const Corpus *corpus, Outputs *outputs, Start *start,
                        Results *results, Error *failed, Error *err) {
    const int rungs = plan->rung_count, place = place_of_state(plan, start);
    double earlier = 0; /* seconds of complete rungs */
    for (int i = 0; i < rungs && (results->count == CLOSED_FORMS || !interrupted()); i++) {
        const RungPlan *rung = &plan->rungs[i];
        double left = plan->time - earlier - (clock_seconds() - plan->begun);
        if (leaves_out(plan, rung, corpus, start, place)) {
            if (!plan->quiet && too_large(corpus)) show_left_out(rung->name, corpus);
            continue;
        }
        const Result *known = complete(plan, rung, start);
        if (known) {
            results->list[results->count++] = *known;
            earlier += known->seconds;
            continue;
        }
        const Task task = {
            .plan = plan,
            .rung = rung,
            .corpus = corpus,
            .outputs = outputs,
            .init = rung->chosen && start->from_model ? &start->init.checkpoint : NULL,
            .seconds = seconds_for(plan, rung, left, rungs - i),
            /* the existing state of a later rung is worth more than the state of this one */
            .keeps_state = i >= place || place == rungs,
            .results = results->list + CLOSED_FORMS,
            .result_count = results->count - CLOSED_FORMS,
            .failed = failed};
        State *from = i == place ? &start->state : NULL;
        if (!train_rung(&task, from, &results->list[results->count], err)) return false;
        results->count++;
    }
    return true;
}

/* ---- the comparison ---- */

static void print_figure(FILE *out, const char *end, int digits, double figure) {
    if (!isnan(figure)) fprintf(out, "%.*f", digits, figure);
    fputs(end, out);
}

static void print_table(FILE *out, const void *what) {
    const Results *results = what;
    fputs(TABLE_HEADING, out);
    for (int i = 0; i < results->count; i++) {
        const Result *r = &results->list[i];
        fprintf(out, "%s,%zu,", r->name, r->parameters);
        print_figure(out, ",", 6, r->train);
        print_figure(out, ",", 6, r->validation);
        print_figure(out, ",", 6, r->validation / log(2.0));
        print_figure(out, "\n", 3, r->seconds < 0 ? 0 : r->seconds);
    }
}

static bool write_table(const Plan *plan, const Results *results, Error *err) {
    if (!textfile_write(plan->files->table, print_table, results, err)) return false;
    fputs("\nThe table is also in ", stdout);
    escape_string(stdout, plan->files->table);
    puts(".");
    return true;
}

/* Has the training of --model begun? */
static bool has_begun(const Plan *plan, const Results *results) {
    for (int i = CLOSED_FORMS; i < results->count; i++)
        if (strcmp(results->list[i].name, plan->model) == 0) return true;
    return false;
}

bool ladder_train(const Plan *plan, const Corpus *corpus, Outputs *outputs, Start *start,
                  Error *err) {
    Results results;
    char where[PATH_SIZE];
    Error failed = {0};
    if (!check_memory(plan, corpus, start, err) || !add_closed_forms(corpus, &results, err) ||
        !outputs_make_way(outputs, corpus->digest, start->resumed, where, err))
        return false;
    if (*where) show_set_aside(where);
    if (!train_rungs(plan, corpus, outputs, start, &results, &failed, err)) return false;
    show_results(results.list, results.count);
    if (plan->ladder && !write_table(plan, &results, err)) return false;
    bool page =
        outputs_hold(outputs, err) && write_report(plan, corpus, results.list, results.count, err);
    show_next_steps(plan, has_begun(plan, &results), page);
    return page && (!*failed.text || fail(err, "%s", failed.text));
}
