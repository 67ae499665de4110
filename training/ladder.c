#include "training/ladder.h"
#include "training/account.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/shell.h"
#include "training/display.h"
#include "training/interruption.h"
#include "training/rung.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSED_FORMS = 3, WIDEST = 8192 };

static bool add_closed_forms(const Corpus *corpus, Result *results, int *count, Error *err) {
    Counts c;
    if (!count_losses(corpus->ids, corpus->train, corpus->ids + corpus->train,
                      corpus->length - corpus->train, corpus->vocab.size, &c, err))
        return false;
    results[(*count)++] = (Result){"uniform", 0, c.uniform, c.uniform, -1, 0, 0};
    results[(*count)++] = (Result){"counted unigram", 0, c.unigram, c.unigram_held_out, -1, 0, 0};
    results[(*count)++] = (Result){"counted bigram", 0, c.bigram, c.bigram_held_out, -1, 0, 0};
    return true;
}

static void write_figure(FILE *out, const char *end, int digits, double figure) {
    if (!isnan(figure)) fprintf(out, "%.*f", digits, figure);
    fputs(end, out);
}

/* The comparison as ladder.csv beside the checkpoints. */
static bool save_comparison(const Settings *settings, const Result *results, int count,
                            char path[PATH_ROOM], Error *err) {
    char *text = NULL;
    size_t length = 0;
    if (!table_path(settings, path, err)) return false;
    FILE *out = open_memstream(&text, &length);
    if (!out) return fail(err, "%s: no memory to write it", path);
    fputs(TABLE_HEADING, out);
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        fprintf(out, "%s,%zu,", r->name, r->parameters);
        write_figure(out, ",", 6, r->train);
        write_figure(out, ",", 6, r->validation);
        write_figure(out, ",", 6, r->validation / log(2.0));
        write_figure(out, "\n", 3, r->seconds < 0 ? 0 : r->seconds);
    }
    bool whole = !ferror(out);
    whole = fclose(out) == 0 && whole;
    FilePart part = {text, length};
    bool ok =
        whole ? file_write(path, &part, 1, err) : fail(err, "%s: no memory to write it", path);
    free(text);
    return ok;
}

int ladder_plan(const Settings *settings, const char *names[MAX_RUNGS]) {
    int count = 0;
    for (int i = 0; model_name(i) && count < MAX_RUNGS; i++)
        if (settings->ladder || i == 0 || strcmp(model_name(i), settings->model) == 0)
            names[count++] = model_name(i);
    return count;
}

/* A baseline that nobody asked for. */
static bool is_baseline(const Settings *s, const char *name) {
    return !s->ladder && strcmp(name, s->model) != 0;
}

/* A training that goes on after its baselines had none. */
static bool had_none(const State *state, const char *name) {
    const Model *model = &state->checkpoint.model;
    if (!model->weights || strcmp(model->config.model, name) == 0) return false;
    for (int i = 0; i < state->result_count; i++)
        if (strcmp(state->results[i].name, name) == 0) return false;
    return true;
}

/* A baseline that nobody asked for is not worth gigabytes: the counted bigram says the same. And
 * what a model is trained further for is to be better than it was. */
static bool leave_out(const Settings *settings, const Corpus *corpus, const State *state,
                      const char *name) {
    return is_baseline(settings, name) &&
           (corpus->vocab.size > WIDEST || settings->init || had_none(state, name));
}

/* Where in the plan the rung is that the state belongs to; all of them if there is no state. */
static int place_of(const State *state, const char *names[MAX_RUNGS], int rungs) {
    int i = 0;
    while (i < rungs && strcmp(names[i], state->checkpoint.model.config.model) != 0) i++;
    return state->checkpoint.model.weights ? i : rungs;
}

/* The characters that a rung is to see in training. */
static double budget_of(const Settings *s) {
    return (double)s->steps * s->batch * s->sizes.T;
}

/* The seconds that the first of `rungs` may take of those that are left: the same as each of the
 * others; but a baseline that nobody asked for has enough with few. 0 where steps count. */
static double seconds_for(const Settings *s, const char *name, double left, int rungs) {
    const double enough = 2, least = 0.1;
    if (s->time <= 0) return 0;
    if (left < least) left = least;
    if (!is_baseline(s, name)) return left / rungs;
    return left / 20 < enough ? left / 20 : enough;
}

/* The result of a rung that was trained before, on a budget that is still the same (or, by the
 * clock, on as much time, where it is not just the baseline); else NULL. */
static const Result *result_of(const State *state, const char *name, const Settings *settings) {
    double budget = budget_of(settings);
    for (int i = 0; i < state->result_count; i++) {
        const Result *r = &state->results[i];
        double least = is_baseline(settings, name) ? 1 : settings->time;
        bool same = settings->time > 0 ? r->time >= least
                                       : r->time <= 0 && fabs(r->characters - budget) < 1;
        if (strcmp(r->name, name) == 0 && same) return r;
    }
    return NULL;
}

/* Before hours are spent: is there memory enough for each rung? */
static bool check_sizes(const Settings *settings, const Corpus *corpus, const State *state,
                        const char *names[MAX_RUNGS], int rungs, Error *err) {
    Task task = {.settings = settings, .corpus = corpus};
    for (int i = 0; i < rungs; i++) {
        task.name = names[i];
        if (!leave_out(settings, corpus, state, names[i]) &&
            !check_memory(&task, i == place_of(state, names, rungs), err))
            return false;
    }
    return true;
}

/* What ./sample is called by those who call ./train `train`: tril-sample by those of tril-train. */
static void sampler_name(const char *train, char name[PATH_ROOM]) {
    static const char own[] = "train";
    size_t length = strlen(train), end = sizeof own - 1;
    bool known = length >= end && strcmp(train + length - end, own) == 0;
    snprintf(name, PATH_ROOM, "%.*ssample", known ? (int)(length - end) : 2, known ? train : "./");
}

/* Parts of a line that is to be pasted. */
static void show_command(const char *before, const char *program, const char *options) {
    fputs(before, stdout);
    shell_word(stdout, program, shell_put);
    fputs(options, stdout);
}

static void show_path(const char *before, const char *path) {
    fputs(before, stdout);
    shell_path(stdout, path, shell_put);
}

/* The files of the training, for it to go on with. */
static void show_files(const Settings *settings, bool usual) {
    if (!usual) show_path(" --out ", settings->out);
    if (settings->log) show_path(" --log ", settings->log);
    show_path(" ", settings->input);
}

/* What to do next: with the model, if it was trained, with its page, if there is one, and with a
 * training that was interrupted. */
static void show_end(const Settings *settings, const Result *results, int count, const char *page) {
    bool usual = strcmp(settings->out, "out/model.safetensors") == 0, begun = false;
    for (int i = 0; i < count; i++) begun = begun || strcmp(results[i].name, settings->model) == 0;
    char sampler[PATH_ROOM];
    sampler_name(*settings->command, sampler);
    if (begun) {
        show_command("\nTo read what it writes:  ", sampler, " -n 500");
        if (!usual) show_path(" ", settings->out);
        putchar('\n');
    }
    if (begun && page) {
        show_path("To see what it learnt:   ", page);
        putchar('\n');
    }
    if (begun && !interrupted() && !settings->ladder) {
        char more[64];
        if (settings->time > 0)
            snprintf(more, sizeof more, " --resume --time %.0f", 2 * settings->time);
        else
            snprintf(more, sizeof more, " --resume --steps %.0f", 2.0 * settings->steps);
        show_command("To train it further:     ", *settings->command, more);
        show_files(settings, usual);
        putchar('\n');
    }
    if (interrupted()) {
        show_command("\nInterrupted.  To go on:  ", *settings->command, " --resume");
        show_files(settings, usual);
        putchar('\n');
    }
}

/* Trains the rungs of the plan one after another, or takes over what `state` says of them. */
static bool train_rungs(const Settings *settings, const Corpus *corpus, Outputs *outputs,
                        State *state, Checkpoint *start, const char *names[MAX_RUNGS], int rungs,
                        Result *results, int *count, Error *failed, Error *err) {
    char path[PATH_ROOM], task_log[PATH_ROOM], last[PATH_ROOM];
    int under_way = place_of(state, names, rungs);
    double before = 0; /* seconds of rungs that another run of the program trained */
    Task task = {.settings = settings,
                 .corpus = corpus,
                 .path = path,
                 .log = task_log,
                 .outputs = outputs,
                 .failed = failed,
                 .results = results};
    if (!state_path(settings->out, last, err)) return false;
    for (int i = 0; i < rungs && (*count == 0 || !interrupted()); i++) {
        double left = settings->time - before - (clock_seconds() - settings->begun);
        task.seconds = seconds_for(settings, names[i], left, rungs - i);
        const Result *known = result_of(state, names[i], settings);
        if (leave_out(settings, corpus, state, names[i])) {
            if (!settings->quiet && corpus->vocab.size > WIDEST)
                printf("\n%s: left out: of %d characters its table would be larger than is worth "
                       "it\n",
                       names[i], corpus->vocab.size);
            continue;
        }
        if (known) {
            results[(*count)++] = *known;
            before += known->seconds;
            continue;
        }
        task.name = names[i];
        task.start = strcmp(names[i], settings->model) == 0 ? start : NULL;
        /* until the rung is reached that the state belongs to, there is nothing better to keep */
        task.state = i >= under_way || under_way == rungs ? last : NULL;
        task.result_count = *count;
        if (!checkpoint_path(settings, names[i], path, err) ||
            !log_path(settings, names[i], task_log, err) ||
            !train_rung(&task, i == under_way ? state : NULL, &results[*count], err))
            return false;
        (*count)++;
    }
    return true;
}

bool ladder_train(const Settings *settings, const Corpus *corpus, Outputs *outputs, State *state,
                  Checkpoint *start, Error *err) {
    const char *names[MAX_RUNGS];
    Result results[MAX_RUNGS + CLOSED_FORMS];
    char page[PATH_ROOM], where[PATH_ROOM];
    int rungs = ladder_plan(settings, names), closed = 0, count = 0;
    bool resumed = state->checkpoint.model.weights;
    Error failed = {0};
    if (!page_path(settings, page, err) ||
        !check_sizes(settings, corpus, state, names, rungs, err) ||
        !add_closed_forms(corpus, results, &closed, err) ||
        !outputs_make_way(outputs, corpus->digest, resumed, where, err))
        return false;
    if (*where) show_set_aside(where);
    if (!train_rungs(settings, corpus, outputs, state, start, names, rungs, results + closed,
                     &count, &failed, err))
        return false;
    count += closed;
    show_results(results, count);
    if (settings->ladder) {
        char path[PATH_ROOM];
        if (!save_comparison(settings, results, count, path, err)) return false;
        fputs("\nThe table is also in ", stdout);
        escape_string(stdout, path);
        puts(".");
    }
    bool drawn =
        outputs_hold(outputs, err) && account_write(settings, corpus, results, count, page, err);
    show_end(settings, results, count, drawn ? page : NULL);
    return drawn && (!*failed.text || fail(err, "%s", failed.text));
}
