#include "training/rung.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "training/budget.h"
#include "training/compute.h"
#include "training/display.h"
#include "training/interruption.h"
#include "training/log.h"
#include "training/measuring.h"
#include "training/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BASELINE_STEPS = 1000 /* after which a bigram is as good as the counted one, within 0.02 */
};

/* With --profile, the time of the steps that none of their parts took. */
static const char steps_rest[] = "the rest of the steps";

/* The training of a rung: what is constant, and what changes. */
typedef struct {
    const Task *task;
    const Plan *plan;
    const RungPlan *rung;
    const Corpus *corpus;
    Model model;
    Workers workers;
    Recipe recipe; /* the rung's, unless its rates fall early */
    Compute compute;
    Budget budget;
    Progress progress;
    double started; /* clock_seconds(), less the seconds of earlier runs */
    double saved;   /* clock_seconds() when the state was last written */
    Log log;
    Course *course;      /* what the log says */
    bool measured;       /* Progress.best is the float32 loss of the checkpoint, by these kernels */
    const char *said[2]; /* the names of the verdicts that were shown */
    SampleWriter writer;
    char sample[SAMPLE_SIZE];        /* written at the last evaluation */
    Stopwatch watch;                 /* measures with --profile */
    bool live;                       /* shows progress on a terminal */
    double shown;                    /* clock_seconds() when the progress was last shown */
    Spark spark;                     /* of the training loss */
    Error best_failed, state_failed; /* why the file could not be written last time; empty: it
                                        could */
} Training;

/* ---- the beginning ---- */

/* Builds the model with the weights of the state or of --init, or else random ones. */
static bool build_model(Training *t, const State *from, const Checkpoint *init, Error *err) {
    const Model *first = from ? &from->checkpoint.model : init ? &init->model : NULL;
    if (!model_build(&t->model, &t->rung->config, t->plan->run.seed, err)) return false;
    if (!first) return true;
    if (!same_sizes(&first->config, &t->model.config))
        return from ? fail(err, "%s: its model is not of the sizes that its settings say",
                           t->plan->files->state)
                    : fail(err, "%s: the model to start from is of other sizes", t->rung->name);
    memcpy(t->model.weights, first->weights, t->model.weights_size * sizeof(float));
    return true;
}

/* Takes the progress and the moments from the state. */
static void restore(Training *t, const State *from) {
    const Checkpoint *c = &from->checkpoint;
    t->progress = from->progress;
    workers_restore(&t->workers, (uint64_t)t->progress.step, c->first_moments, c->second_moments);
    /* a checkpoint that somebody removed is written again */
    if (!file_exists(t->rung->checkpoint)) t->progress.best = INFINITY;
}

/* A resumed training may have measured its best weights before, but not kept the loss. */
static double closing_of(const Training *t) {
    bool known = t->plan->run.precision != BFLOAT16 && t->progress.step == 0;
    return plan_closing(t->plan, t->corpus, known);
}

/* By the clock: the steps of Plan.epochs; those that a baseline needs. */
static int max_steps_of(const Training *t) {
    const double any = 1e9;
    if (t->rung->baseline) return BASELINE_STEPS;
    double epochs = t->plan->epochs;
    double steps = epochs * (double)t->corpus->train / plan_step_characters(t->plan);
    return (int)(epochs > 0 ? fmax(1, fmin(steps, any)) : any);
}

/* From Progress.decay_start on the rates fall, and the training ends at Progress.decay_end. */
static void follow_decay(Training *t) {
    recipe_set_cooldown(&t->recipe, t->progress.decay_start, t->progress.decay_end);
    budget_limit_steps(&t->budget, (int)t->progress.decay_end);
}

/* Continues the log if it is still as the training left it; else moves it aside and begins another.
 */
static bool open_log(Training *t, Error *err) {
    const char *path = t->rung->log;
    const Progress *p = &t->progress;
    char where[PATH_SIZE];
    if (p->step > 0 && p->lowest_step <= 0 && isfinite(p->lowest))
        course_begin(t->course, p->lowest);
    if (p->log_length > 0 && log_reopen(&t->log, path, (size_t)p->log_length, p->log_digest)) {
        course_read(t->course, path);
        return true;
    }
    if (p->step > 0 && !outputs_set_aside(t->task->outputs, path, where, err)) return false;
    if (p->step > 0 && *where && !t->plan->quiet) show_other_log(path, where);
    return log_create(&t->log, path, err);
}

/* A forward pass is a third of what training takes. */
static bool teach(Training *t, Model *teacher, Error *err) {
    if (!teacher) return true;
    Compute taught = compute_of(&teacher->config);
    t->compute.parameters += taught.parameters / 3;
    t->compute.looks += taught.looks / 3;
    return workers_teach(&t->workers, teacher, TEACHER_SHARE, err);
}

static bool open_training(Training *t, const Task *task, State *from, Error *err) {
    *t = (Training){.task = task,
                    .plan = task->plan,
                    .rung = task->rung,
                    .corpus = task->corpus,
                    .course = task->course,
                    .recipe = task->rung->recipe,
                    .compute = compute_of(&task->rung->config),
                    .progress = {.best = INFINITY, .lowest = INFINITY},
                    .live = !task->plan->quiet && terminal_is(stdout),
                    .saved = clock_seconds()};
    double begun = clock_seconds();
    if (t->plan->profile) stopwatch_start(&t->watch, "the rest", begun);
    stopwatch_enter(&t->watch, "opening");
    bool ok = build_model(t, from, task->init, err) &&
              workers_open(&t->workers, &t->model, &t->plan->run, t->corpus, err) &&
              teach(t, task->teacher, err) &&
              (!t->plan->profile || run_profile(t->workers.run, err));
    if (ok && from) restore(t, from);
    /* their weights and moments take as much memory as the training's own */
    if (from) state_free(from);
    if (task->init) checkpoint_free(task->init);
    if (!ok || !sample_open(&t->writer, t->workers.run, &t->model.config, err) || !open_log(t, err))
        return false;
    t->budget = budget_open(t->plan, task->seconds, max_steps_of(t), closing_of(t), &t->progress);
    if (t->progress.decay_start > 0) follow_decay(t);
    t->started = begun - t->progress.seconds;
    stopwatch_leave(&t->watch);
    return true;
}

static void close_training(Training *t) {
    workers_close(&t->workers);
    model_free(&t->model);
    sample_close(&t->writer);
    log_close(&t->log);
}

/* Refused: a state that already exceeds the plan. */
static bool check_budget(const Training *t, Error *err) {
    const Plan *plan = t->plan;
    const Progress *p = &t->progress;
    bool by_time = t->task->seconds > 0;
    if (by_time && p->seconds > plan->time + 1)
        return fail(err, "%s: %.0f seconds have been spent, more than --time %.0f",
                    plan->files->state, p->seconds, plan->time);
    if (!by_time && p->step > plan->steps)
        return fail(err, "%s: %d steps have been taken, more than --steps %d", plan->files->state,
                    p->step, plan->steps);
    return true;
}

/* ---- one step ---- */

static bool diverged(const Training *t, const char *what, int step, Error *err) {
    double rate = t->recipe.peak.learning_rate;
    return fail(err, "%s: %s at step %d; the learning rate of %.3g is too high: try --lr %.2g",
                t->rung->name, what, step, rate, verdict_lower_rate(t->rung->name, rate));
}

/* The length of the windows in the next step. */
static int window_of(const Training *t) {
    return recipe_window(&t->recipe, t->plan->run.length, t->progress.step, t->budget.steps);
}

/* Forward and backward on a batch, and an update of the weights. */
static bool train_step(Training *t, LogRow *row, Error *err) {
    Progress *p = &t->progress;
    double start = clock_seconds();
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->budget.steps);
    stopwatch_enter(&t->watch, steps_rest);
    int window = window_of(t);
    Step step = workers_step(&t->workers, (uint64_t)p->step, window, &optimizer);
    stopwatch_leave(&t->watch);
    if (!isfinite(step.loss))
        return diverged(t, "the loss is no longer a number", p->step + 1, err);
    if (!isfinite(step.norm))
        return diverged(t, "the gradient is no longer finite", p->step + 1, err);

    double end = clock_seconds();
    p->step++;
    p->step_seconds += end - start;
    p->seconds = end - t->started;
    p->recent = (p->recent * p->recent_count + step.loss) / (p->recent_count + 1);
    p->recent_count++;
    p->compute += compute_for(t->compute, plan_step_characters(t->plan), window);
    spark_add(&t->spark, step.loss);
    double characters = p->step * plan_step_characters(t->plan);
    *row = (LogRow){.step = p->step,
                    .characters = characters,
                    .seconds = p->seconds,
                    .rate = optimizer.learning_rate,
                    .loss = step.loss,
                    .validation = NAN,
                    .norm = step.norm,
                    .compute = p->compute,
                    .speed = characters / p->step_seconds};
    return true;
}

/* ---- one evaluation ---- */

/* Writes the weights as the best ones. If that fails, the next evaluation tries again, and training
 * goes on. */
static bool keep_best(Training *t, double validation) {
    const char *path = t->rung->checkpoint;
    t->best_failed = (Error){0};
    stopwatch_enter(&t->watch, "saving");
    if (t->live) show_activity("saving");
    bool saved = outputs_hold(t->task->outputs, &t->best_failed) &&
                 save_best(path, &t->model, t->plan->run.seed, t->corpus, t->progress.step,
                           validation, &t->best_failed);
    stopwatch_leave(&t->watch);
    if (saved) t->progress.best = validation;
    t->measured = saved && t->plan->run.precision == FLOAT32;
    return saved;
}

/* Measures the loss on the whole held-out text, NaN if a person did not wait for it, and keeps the
 * weights if it is the lowest so far. */
static bool evaluate(Training *t, double *validation, Error *err) {
    const Corpus *corpus = t->corpus;
    const Plan *plan = t->plan;
    Progress *p = &t->progress;
    double begun = clock_seconds();
    if (t->live) show_activity("evaluating");
    stopwatch_enter(&t->watch, "evaluations");
    bool ok = workers_evaluate(&t->workers, corpus->train, corpus->length - corpus->train, 1,
                               validation, err);
    stopwatch_leave(&t->watch);
    if (!ok) return false;
    if (isnan(*validation) && interrupted_twice()) return true;
    if (!isfinite(*validation)) return diverged(t, "the loss is no longer a number", p->step, err);
    double took = clock_seconds() - begun;
    if (p->step == 0) course_begin(t->course, *validation);
    stopwatch_enter(&t->watch, "samples");
    sample_write(&t->writer, &corpus->vocab, plan->run.seed, t->sample);
    stopwatch_leave(&t->watch);
    if (p->step > 0) p->evaluations_since_best++;
    if (*validation < p->lowest) {
        p->lowest = *validation;
        p->lowest_step = p->step;
        p->evaluations_since_best = 0;
    }
    p->seconds = clock_seconds() - t->started;
    budget_evaluated(&t->budget, p, took);
    const char *mark = "  ";
    if (*validation < p->best || !file_exists(t->rung->checkpoint))
        mark = keep_best(t, *validation) ? " *" : " not saved";
    if (!plan->quiet) show_evaluation(p, plan, t->budget.steps, *validation, mark, t->sample);
    p->recent = p->recent_count = 0;
    return true;
}

/* Was it shown? On a terminal, as seldom as the progress: with --save-every 0 each step saves. A
 * terminal that nobody reads any more, such as that of an interrupted mpirun, would fill up and
 * block the program. */
static bool show_saving(Training *t) {
    const double often = 0.1;
    if (!t->live || clock_seconds() - t->shown < often) return false;
    show_activity("saving");
    t->shown = clock_seconds();
    return true;
}

/* Writes the state. It is called after the best weights are written, so that no state refers to a
 * missing file. */
static void keep_state(Training *t) {
    const Task *task = t->task;
    if (!task->keeps_state) return;
    stopwatch_enter(&t->watch, "saving");
    bool shown = show_saving(t);
    t->progress.log_length = log_flush(&t->log) ? (double)t->log.length : 0;
    t->progress.log_digest = digest_value(&t->log.digest);
    t->progress.seconds = clock_seconds() - t->started;
    t->state_failed = (Error){0};
    workers_collect(&t->workers);
    if (outputs_hold(task->outputs, &t->state_failed))
        save_state(t->plan->files->state, t->workers.run, t->plan, t->corpus, &t->progress,
                   task->results, task->result_count, &t->state_failed);
    if (shown) show_nothing();
    stopwatch_leave(&t->watch);
    t->saved = clock_seconds();
}

/* ---- all steps ---- */

/* In seconds. */
static double expected_evaluation(const Training *t) {
    return plan_evaluation(t->plan, t->corpus) * t->progress.step_seconds / t->progress.step;
}

/* If high rates no longer lower the loss, the rates begin to fall: as fast as in a training whose
 * peak was planned to end at the lowest loss. */
static void decay_early(Training *t) {
    Progress *p = &t->progress;
    double share = t->recipe.cooldown, steps = t->budget.steps;
    if (share <= 0 || p->decay_start > 0 || !budget_early_decay(&t->budget, p)) return;
    double length = p->lowest_step * share / (1 - share);
    double rate = recipe_step(&t->recipe, p->step, (int)steps).learning_rate;
    double left = ceil(length * rate / t->recipe.peak.learning_rate);
    if (p->step + left >= steps) return;
    p->decay_end = p->step + left;
    p->decay_start = fmax(1, p->decay_end - length); /* in the past if they fall already */
    follow_decay(t);
    if (!t->plan->quiet) show_early_decay(p);
}

static bool evaluate_and_keep(Training *t, Error *err) {
    double validation;
    if (!evaluate(t, &validation, err)) return false;
    keep_state(t);
    return true;
}

/* The page reads the log. */
static void renew_page(Training *t) {
    stopwatch_enter(&t->watch, "the page");
    log_flush(&t->log);
    report_renew(t->task->report, &(ReportRung){t->rung, t->workers.run, &t->progress, t->course});
    stopwatch_leave(&t->watch);
}

/* Shows a verdict that matters now, once. */
static void show_news(Training *t) {
    enum { SAID = sizeof t->said / sizeof *t->said };
    Result now = {.name = t->rung->name, .validation = NAN, .course = t->course};
    Verdict verdicts[MAX_VERDICTS];
    int count = verdicts_of(t->plan, t->corpus, &now, 1, verdicts), i = 0;
    if (count == 0) return;
    while (i < SAID && t->said[i] && strcmp(t->said[i], verdicts->name) != 0) i++;
    if (i == SAID || t->said[i]) return;
    t->said[i] = verdicts->name;
    show_verdict(verdicts);
}

/* Takes one step, and then evaluates, saves and shows progress if due. Sets *last if it was the
 * last step. */
static bool advance(Training *t, bool *last, Error *err) {
    Progress *p = &t->progress;
    LogRow row;
    if (!train_step(t, &row, err)) return false;
    budget_expect(&t->budget, expected_evaluation(t));
    bool used = budget_used(&t->budget, p), due = budget_evaluation_due(&t->budget, p, used);
    bool ok = !due || evaluate(t, &row.validation, err);
    bool evaluated = due && !isnan(row.validation); /* a person may not have waited for it */
    if (evaluated && ok) row.sample = t->sample;
    if (evaluated && ok && !used) decay_early(t);
    log_row(&t->log, &row);
    course_add(t->course, &row);
    if (ok && !t->plan->quiet && (evaluated || p->step % COURSE_BLOCK == 0)) show_news(t);
    double now = clock_seconds();
    bool stops = evaluated && !used && budget_early_stop(&t->budget, p);
    p->time_limit = used ? t->plan->time : 0;
    p->early_stop = stops ? t->budget.steps : 0;
    *last = used || stops || interrupted();
    if (ok && (evaluated || *last || now - t->saved >= t->plan->save_every)) keep_state(t);
    if (ok && !*last && report_due(t->task->report, now, evaluated)) renew_page(t);
    if (t->live && !evaluated && now - t->shown > 0.1) {
        show_progress(p, t->plan, t->budget.steps, &t->spark);
        t->shown = now;
    }
    return ok;
}

/* Takes the remaining steps. A training without any may still lack its last evaluation, which was
 * interrupted. */
static bool take_steps(Training *t, Error *err) {
    bool last = budget_complete(&t->budget, &t->progress);
    bool owes = last && t->progress.recent_count > 0;
    bool ok = !owes || evaluate_and_keep(t, err);
    while (ok && !last) ok = advance(t, &last, err);
    if (t->live && !ok) putchar('\n'); /* the message begins a new line, after the progress */
    if (ok && !t->plan->quiet && t->progress.early_stop > 0) show_early_stop(&t->progress);
    return ok;
}

/* ---- the end ---- */

/* An interruption before the first evaluation still leaves a checkpoint to sample from. The state
 * does not know of it: a training that is resumed ends as if it had never been interrupted. */
static bool keep_something(Training *t, Error *err) {
    double validation = NAN;
    bool kept = isfinite(t->progress.best) && file_exists(t->rung->checkpoint);
    if (kept || *t->best_failed.text) return true;
    if (!interrupted_twice() && !evaluate(t, &validation, err)) return false;
    if (isnan(validation))
        save_best(t->rung->checkpoint, &t->model, t->plan->run.seed, t->corpus, t->progress.step,
                  NAN, &t->best_failed);
    return true;
}

/* Sets the losses of the best checkpoint. */
static bool measure(Training *t, Result *result, Error *err) {
    double known = t->measured ? t->progress.best : NAN;
    stopwatch_enter(&t->watch, "losses of the best model");
    if (t->live) show_activity("measuring the best model");
    bool ok = measure_best(t->plan, t->rung, t->corpus, &t->model.config, known, result, err);
    stopwatch_leave(&t->watch);
    return ok;
}

/* A file that could not be written is reported at the end, when nothing is lost by ending. */
static void note_failures(Training *t, Error *failed) {
    if (*failed->text) return;
    if (*t->best_failed.text)
        *failed = t->best_failed;
    else if (*t->state_failed.text)
        *failed = t->state_failed;
    else if (!log_flush(&t->log))
        fail(failed, "%s: cannot be written", t->rung->log);
}

/* Divides the time of the steps into what their parts took, before the run is closed. */
static void split_steps(Training *t) {
    ProfileLine parts[MAX_LINES];
    if (!t->workers.run) return;
    int count = run_profile_lines(t->workers.run, parts, MAX_LINES / 2);
    stopwatch_split(&t->watch, steps_rest, parts, count);
}

bool train_rung(const Task *task, State *from, Result *result, Error *err) {
    Training t;
    const Plan *plan = task->plan;
    bool ok = open_training(&t, task, from, err) && check_budget(&t, err);
    if (ok && !plan->quiet) {
        show_training(&t.model, t.workers.run, plan, task->corpus, t.progress.step);
        show_windows(window_of(&t), plan->run.length);
        show_kernels(&t.progress, t.workers.run);
    }
    /* a trained model's loss is the first to be lowered; the state makes --init unnecessary */
    if (task->init && !from) ok = ok && evaluate_and_keep(&t, err);
    ok = ok && take_steps(&t, err);
    if (ok && !plan->quiet) show_sharing(&t.workers);
    ok = ok && keep_something(&t, err);
    if (ok) note_failures(&t, task->failed);
    if (ok && !file_exists(task->rung->checkpoint)) ok = fail(err, "%s", task->failed->text);
    split_steps(&t);
    workers_close(&t.workers); /* frees its memory before another run is opened */
    ok = ok && measure(&t, result, err);
    if (t.live) show_nothing();
    int steps = t.progress.early_stop > 0 ? t.budget.steps : t.progress.step;
    result->name = task->rung->name;
    result->seconds = clock_seconds() - t.started;
    result->time = plan->time;
    result->characters = steps * plan_step_characters(plan);
    result->compute = t.progress.compute;
    result->course = t.course;
    t.course->ended = budget_complete(&t.budget, &t.progress);
    close_training(&t);
    stopwatch_stop(&t.watch);
    if (ok && plan->profile) show_profile(task->rung->name, &t.watch);
    return ok;
}
