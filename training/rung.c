#include "training/rung.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/world.h"
#include "training/budget.h"
#include "training/crew.h"
#include "training/display.h"
#include "training/excerpt.h"
#include "training/interruption.h"
#include "training/log.h"
#include "training/recipe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPREAD = 32 }; /* batches of the training text that its loss is measured on, at most */

typedef struct {
    const Task *task;
    const Settings *settings;
    const Corpus *corpus;
    Model model;
    Crew crew;
    Log log;
    Recipe recipe;
    Budget budget;
    double started; /* when; earlier by the time that was spent before */
    double saved;   /* when the state was last written */
    Progress progress;
    Excerpt excerpt;
    char written[EXCERPT_ROOM]; /* by the model, at the last evaluation */
    Spark spark;                /* of the training loss */
    Error no_best, no_state;    /* why that file could not be written when last tried, or empty */
} Training;

/* ---- the beginning ---- */

static Config config_of(const Task *task) {
    Config config = task->settings->sizes;
    config.V = task->corpus->vocab.size;
    snprintf(config.model, sizeof config.model, "%s", task->name);
    return config;
}

static RunOptions options_of(const Settings *s) {
    return (RunOptions){.batch = s->batch,
                        .length = s->sizes.T,
                        .training = true,
                        .threads = s->threads,
                        .precision = s->multiply_in,
                        .seed = s->seed,
                        .shared = true};
}

bool check_memory(const Task *task, bool resumed, Error *err) {
    const double GiB = 1073741824;
    Config config = config_of(task);
    RunOptions options = options_of(task->settings);
    Memory m;
    if (!run_estimate(&config, &options, &m, err)) return false;
    double text = (double)task->corpus->length * sizeof *task->corpus->ids;
    double all = (double)m.weights + (double)m.optimizer + (double)m.messages +
                 (double)m.activations + (double)m.threads + text;
    if (resumed) all += 2 * (double)m.optimizer; /* the state, as a file and as what it says */
    double there = (double)memory_installed() / world_beside();
    return all <= there || fail(err,
                                "%s: would take %.1f GiB of memory, and this machine has %.1f%s; "
                                "smaller sizes or a smaller --batch take less",
                                task->name, all / GiB, there / GiB,
                                world_beside() > 1 ? " for each of its processes" : "");
}

static bool same_config(const Config *a, const Config *b) {
    return strcmp(a->model, b->model) == 0 && a->V == b->V && a->T == b->T && a->L == b->L &&
           a->NH == b->NH && a->C == b->C;
}

/* The first weights: those of a state, or of the model that is there already, whose loss is then
 * the first to be lowered, or else random ones. */
static bool build_model(Training *t, const State *from, const Checkpoint *start, Error *err) {
    Config config = config_of(t->task);
    const Model *there = from ? &from->checkpoint.model : start ? &start->model : NULL;
    if (!model_build(&t->model, &config, t->settings->seed, err)) return false;
    if (there && !same_config(&there->config, &t->model.config))
        return from ? fail(err, "%s: its model is not of the sizes that its settings say",
                           t->task->state)
                    : fail(err, "%s: the model to start from is of other sizes", t->task->name);
    if (there) memcpy(t->model.weights, there->weights, t->model.room * sizeof(float));
    return true;
}

/* Takes over the rest of what a state says. */
static void restore(Training *t, const State *from) {
    const Checkpoint *c = &from->checkpoint;
    t->progress = from->progress;
    crew_restore(&t->crew, (uint64_t)t->progress.step, c->first_moments, c->second_moments);
    /* what is gone is made again */
    if (access(t->task->path, F_OK) != 0) t->progress.best = INFINITY;
}

static size_t tokens_of(const Training *t) {
    return (size_t)t->settings->batch * (size_t)t->model.config.T;
}

static double batches_of(const Training *t, size_t length) {
    return ceil((double)length / (double)tokens_of(t));
}

static double held_out_batches(const Training *t) {
    return batches_of(t, t->corpus->length - t->corpus->train);
}

/* What comes after the last step, in evaluations: one, then the kept weights' on the held-out and
 * on the training text, in float32, which takes nearly twice as long as bfloat16. */
static double closing_of(const Training *t) {
    double longer = t->settings->multiply_in == FLOAT32 ? 1 : 1.8;
    double train = fmin(batches_of(t, t->corpus->train), SPREAD);
    return 1 + longer * (1 + train / held_out_batches(t));
}

/* By the clock: the steps in which the text is seen as often as the settings let. */
static int most_steps_of(const Training *t) {
    const double any = 1e9;
    double epochs = t->settings->epochs;
    double steps = epochs * (double)t->corpus->train / (double)tokens_of(t);
    return (int)(epochs > 0 ? fmax(1, fmin(steps, any)) : any);
}

/* The rest of a training that goes better at lower rates. */
static void cool(Training *t) {
    recipe_cool(&t->recipe, t->progress.cooling, t->progress.cooled);
    budget_shorten(&t->budget, (int)t->progress.cooled);
}

/* The log of a training that goes on is continued if it is still as the training left it. */
static bool open_log(Training *t, Error *err) {
    const Task *task = t->task;
    const Progress *p = &t->progress;
    char where[PATH_ROOM];
    if (p->log_length > 0 && log_reopen(&t->log, task->log, (size_t)p->log_length, p->log_digest))
        return true;
    if (p->step > 0 && !outputs_set_aside(task->outputs, task->log, where, err)) return false;
    if (p->step > 0 && *where && !t->settings->quiet) show_other_log(task->log, where);
    return log_create(&t->log, task->log, err);
}

static bool open_training(Training *t, const Task *task, State *from, Error *err) {
    const Settings *s = task->settings;
    *t = (Training){.task = task,
                    .settings = s,
                    .corpus = task->corpus,
                    .progress = {.best = INFINITY, .lowest = INFINITY},
                    .saved = clock_seconds()};
    bool chosen = strcmp(task->name, s->model) == 0;
    t->recipe = recipe_of(task->name);
    if (chosen && s->learning_rate > 0) recipe_set_rate(&t->recipe, s->learning_rate);
    if (chosen && s->decay >= 0) recipe_set_decay(&t->recipe, s->decay);
    RunOptions options = options_of(s);
    double begun = clock_seconds();
    bool ok = build_model(t, from, task->start, err) &&
              crew_open(&t->crew, &t->model, &options, t->corpus, err);
    if (ok && from) restore(t, from);
    /* they are as large as the training's own */
    if (from) state_free(from);
    if (task->start) checkpoint_free(task->start);
    if (!ok || !excerpt_open(&t->excerpt, t->crew.run, &t->model.config, err) || !open_log(t, err))
        return false;
    t->budget = budget_open(s, task->seconds, most_steps_of(t), closing_of(t), &t->progress);
    if (t->progress.cooling > 0) cool(t);
    t->started = begun - t->progress.seconds;
    return true;
}

static void close_training(Training *t) {
    crew_close(&t->crew);
    model_free(&t->model);
    excerpt_close(&t->excerpt);
    log_close(&t->log);
}

/* ---- steps ---- */

static bool diverged(const Training *t, const char *what, int step, Error *err) {
    return fail(err, "%s: %s at step %d; a smaller --lr may help", t->task->name, what, step);
}

/* One step: a batch forward, its loss backward, the weights a little better. */
static bool train_step(Training *t, LogRow *row, Error *err) {
    Progress *p = &t->progress;
    double start = clock_seconds();
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->budget.steps);
    Step step = crew_step(&t->crew, (uint64_t)p->step, &optimizer);
    if (!isfinite(step.loss))
        return diverged(t, "the loss is no longer a number", p->step + 1, err);
    if (!isfinite(step.norm))
        return diverged(t, "the gradient is no longer finite", p->step + 1, err);

    double end = clock_seconds();
    p->step++;
    p->learning += end - start;
    p->seconds = end - t->started;
    p->recent = (p->recent * p->recent_count + step.loss) / (p->recent_count + 1);
    p->recent_count++;
    spark_add(&t->spark, step.loss);
    double characters = (double)p->step * (double)tokens_of(t);
    *row = (LogRow){.step = p->step,
                    .characters = characters,
                    .seconds = p->seconds,
                    .rate = optimizer.learning_rate,
                    .loss = step.loss,
                    .validation = NAN,
                    .norm = step.norm,
                    .speed = characters / p->learning};
    return true;
}

/* The loss on the whole held-out text, NaN if a person did not wait for it; keeps the weights if it
 * is the lowest so far. Where they cannot be written now, they may be next time: training goes on.
 */
static bool evaluate(Training *t, double *validation, Error *err) {
    const Corpus *corpus = t->corpus;
    Progress *p = &t->progress;
    double begun = clock_seconds();
    if (!crew_evaluate(&t->crew, corpus->train, corpus->length - corpus->train, 1, validation, err))
        return false;
    if (isnan(*validation) && interrupted_twice()) return true;
    if (!isfinite(*validation)) return diverged(t, "the loss is no longer a number", p->step, err);
    double took = clock_seconds() - begun;
    excerpt_write(&t->excerpt, &corpus->vocab, t->settings->seed, t->written);
    const char *mark = "  ";
    if (p->step > 0) p->stale++;
    if (*validation < p->lowest) {
        p->lowest = *validation;
        p->lowest_step = p->step;
        p->stale = 0;
    }
    p->seconds = clock_seconds() - t->started;
    budget_evaluated(&t->budget, p, took);
    if (*validation < p->best ||
        access(t->task->path, F_OK) != 0) { /* what is gone is made again */
        t->no_best = (Error){0};
        bool saved = outputs_hold(t->task->outputs, &t->no_best) &&
                     save_best(t->task->path, &t->model, t->settings, corpus, p->step, *validation,
                               &t->no_best);
        if (saved) p->best = *validation;
        mark = saved ? " *" : " not saved";
    }
    if (!t->settings->quiet)
        show_evaluation(p, t->settings, t->budget.steps, *validation, mark, t->written);
    p->recent = p->recent_count = 0;
    return true;
}

/* After the best weights, never before: a state must not know of a file that is not there. */
static void keep_state(Training *t) {
    const Task *task = t->task;
    if (!task->state) return;
    t->progress.log_length = log_flush(&t->log) ? (double)t->log.length : 0;
    t->progress.log_digest = digest_value(&t->log.digest);
    t->progress.seconds = clock_seconds() - t->started;
    t->no_state = (Error){0};
    crew_collect(&t->crew);
    if (outputs_hold(task->outputs, &t->no_state))
        save_state(task->state, t->crew.run, t->settings, t->corpus, &t->progress, task->results,
                   task->result_count, &t->no_state);
    t->saved = clock_seconds();
}

/* In seconds: each batch takes about a quarter of a step's work. */
static double expected_evaluation(const Training *t) {
    return held_out_batches(t) * t->progress.learning / t->progress.step / 4;
}

/* Where no lower loss comes any more while the rates are high, they fall from now on, as fast as
 * they would if that had been known: so that the lowest was at the end of their peak. */
static void cool_early(Training *t) {
    Progress *p = &t->progress;
    double share = t->recipe.cooldown, steps = t->budget.steps;
    if (share <= 0 || p->cooling > 0 || !budget_stale(&t->budget, p)) return;
    double length = p->lowest_step * share / (1 - share);
    double rate = recipe_step(&t->recipe, p->step, (int)steps).learning_rate;
    double left = ceil(length * rate / t->recipe.peak.learning_rate);
    if (p->step + left >= steps) return;
    p->cooled = p->step + left;
    p->cooling = fmax(1, p->cooled - length); /* earlier than now, if they fall already */
    cool(t);
    if (!t->settings->quiet) show_cooling(p);
}

/* A training that came to its end, but was interrupted in its last evaluation, makes up for it. */
static bool evaluate_last(Training *t, Error *err) {
    double validation;
    if (t->progress.recent_count <= 0) return true;
    if (!evaluate(t, &validation, err)) return false;
    keep_state(t);
    return true;
}

static bool take_steps(Training *t, Error *err) {
    const Settings *s = t->settings;
    Progress *p = &t->progress;
    double shown = 0;
    bool live = !s->quiet && isatty(STDOUT_FILENO), last = budget_complete(&t->budget, p);
    bool ok = !last || evaluate_last(t, err);
    while (ok && !last) {
        LogRow row;
        ok = train_step(t, &row, err);
        if (!ok) break;
        budget_expect(&t->budget, expected_evaluation(t));
        bool spent = budget_spent(&t->budget, p);
        bool due = budget_evaluation_due(&t->budget, p, spent);
        if (due) ok = evaluate(t, &row.validation, err);
        due = due && !isnan(row.validation); /* a person may not have waited for it */
        if (due && ok) row.excerpt = t->written;
        if (due && ok && !spent) cool_early(t);
        log_row(&t->log, &row);
        double now = clock_seconds();
        p->spent = spent ? s->time : 0;
        p->given_up = due && !spent && budget_hopeless(&t->budget, p) ? t->budget.steps : 0;
        last = spent || p->given_up > 0 || interrupted();
        if (ok && (due || last || now - t->saved >= s->save_every)) keep_state(t);
        if (live && !due && now - shown > 0.1) {
            show_progress(p, s, t->budget.steps, &t->spark);
            shown = now;
        }
    }
    if (live && !ok) printf("\n"); /* the message is not to stand behind the progress */
    if (ok && !s->quiet && p->given_up > 0) show_hopeless(p);
    return ok;
}

/* ---- the end ---- */

/* An interruption before the first evaluation is to leave something to sample from. The state does
 * not know of it: a training that is resumed ends as one that was never interrupted. */
static bool keep_something(Training *t, Error *err) {
    double validation = NAN;
    bool there = isfinite(t->progress.best) && access(t->task->path, F_OK) == 0;
    if (there || *t->no_best.text) return true;
    if (!interrupted_twice() && !evaluate(t, &validation, err)) return false;
    if (isnan(validation))
        save_best(t->task->path, &t->model, t->settings, t->corpus, t->progress.step, NAN,
                  &t->no_best);
    return true;
}

/* The figures of the checkpoint that was kept, read back from its file, and in float32 whatever it
 * was trained in: the loss on the held-out text, and that over SPREAD batches, at most, from all
 * over the training text. Where a person does not wait for them, there is only that of the
 * evaluation at which it was kept. */
static bool measure(const Training *t, Result *result, Error *err) {
    const Corpus *corpus = t->corpus;
    const char *path = t->task->path;
    Checkpoint kept;
    if (!checkpoint_load(&kept, path, err)) return false;
    RunOptions options = {.batch = t->settings->batch,
                          .length = kept.model.config.T,
                          .threads = t->settings->threads};
    Crew crew = {0};
    bool ok = same_config(&kept.model.config, &t->model.config) ||
              fail(err, "%s: was replaced by another program", path);
    size_t every = (size_t)ceil(batches_of(t, corpus->train) / SPREAD), train = corpus->train;
    result->train = result->validation = NAN;
    if (!interrupted_twice())
        ok = ok && crew_open(&crew, &kept.model, &options, corpus, err) &&
             crew_evaluate(&crew, 0, train, every, &result->train, err) &&
             crew_evaluate(&crew, train, corpus->length - train, 1, &result->validation, err);
    const Note *best = checkpoint_note(&kept, "validation_loss");
    if (best && isnan(result->validation)) result->validation = strtod(best->value, NULL);
    result->parameters = kept.model.parameters;
    crew_close(&crew);
    checkpoint_free(&kept);
    return ok;
}

/* What could not be written is said in the end, when nothing is lost by ending. */
static void note_failures(Training *t, Error *failed) {
    if (*failed->text) return;
    if (*t->no_best.text)
        *failed = t->no_best;
    else if (*t->no_state.text)
        *failed = t->no_state;
    else if (!log_flush(&t->log))
        fail(failed, "%s: cannot be written", t->task->log);
}

bool train_rung(const Task *task, State *from, Result *result, Error *err) {
    Training t;
    const Settings *s = task->settings;
    bool ok = open_training(&t, task, from, err);
    int done = t.progress.step;
    if (ok && task->seconds > 0 && t.progress.seconds > s->time + 1)
        ok = fail(err, "%s: %.0f seconds have been spent, more than --time %.0f", task->state,
                  t.progress.seconds, s->time);
    if (ok && task->seconds <= 0 && done > s->steps)
        ok = fail(err, "%s: %d steps have been taken, more than --steps %d", task->state, done,
                  s->steps);
    if (ok && !s->quiet) show_training(&t.model, t.crew.run, s, task->corpus, done);
    if (ok && !s->quiet) show_kernels(&t.progress, t.crew.run);
    if (ok && task->start && !from) {
        double validation;
        ok = evaluate(&t, &validation, err);
        if (ok) keep_state(&t); /* from now on it can be resumed without the model of its start */
    }
    ok = ok && take_steps(&t, err);
    if (ok && !s->quiet) show_sharing(&t.crew);
    ok = ok && keep_something(&t, err);
    if (ok) note_failures(&t, task->failed);
    if (ok && access(task->path, F_OK) != 0) ok = fail(err, "%s", task->failed->text);
    crew_close(&t.crew); /* its memory is needed no longer */
    ok = ok && measure(&t, result, err);
    result->name = task->name;
    result->seconds = clock_seconds() - t.started;
    result->time = s->time;
    int steps = t.progress.given_up > 0 ? t.budget.steps : t.progress.step;
    result->characters = (double)steps * s->batch * s->sizes.T;
    close_training(&t);
    return ok;
}
