#include "training/rung.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "training/budget.h"
#include "training/display.h"
#include "training/interruption.h"
#include "training/log.h"
#include "training/measuring.h"
#include "training/sizes.h"
#include "training/training.h"

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
    Training training; /* of `model`; its steps are those of the budget */
    Budget budget;
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
} Trainer;

/* ---- the beginning ---- */

/* Builds the model with the weights of the state or of --init, or else random ones. */
static bool build_model(Trainer *t, const State *from, const Checkpoint *init, Error *err) {
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
static void restore(Trainer *t, const State *from) {
    training_restore(&t->training, from);
    /* a checkpoint that somebody removed is written again */
    if (!file_exists(t->rung->checkpoint)) t->training.progress.best = INFINITY;
}

/* A resumed training may have measured its best weights before, but not kept the loss. */
static double closing_of(const Trainer *t) {
    bool known = t->plan->run.precision != BFLOAT16 && t->training.progress.step == 0;
    return plan_closing(t->plan, t->corpus, known);
}

/* By the clock: the steps of Plan.epochs; those that a baseline needs. */
static int max_steps_of(const Trainer *t) {
    const double any = 1e9;
    if (t->rung->baseline) return BASELINE_STEPS;
    double epochs = t->plan->epochs;
    double steps = epochs * (double)t->corpus->train / plan_step_characters(t->plan);
    return (int)(epochs > 0 ? fmax(1, fmin(steps, any)) : any);
}

/* From Progress.decay_start on the rates fall, and the training ends at Progress.decay_end. */
static void follow_decay(Trainer *t) {
    training_follow_decay(&t->training);
    budget_limit_steps(&t->budget, (int)t->training.progress.decay_end);
}

/* Continues the log if it is still as the training left it; else moves it aside and begins another.
 */
static bool open_log(Trainer *t, Error *err) {
    const char *path = t->rung->log;
    const Progress *p = &t->training.progress;
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

static bool open_training(Trainer *t, const Task *task, State *from, Error *err) {
    *t = (Trainer){.task = task,
                   .plan = task->plan,
                   .rung = task->rung,
                   .corpus = task->corpus,
                   .course = task->course,
                   .live = !task->plan->quiet && terminal_is(stdout),
                   .saved = clock_seconds()};
    double begun = clock_seconds();
    if (t->plan->profile) stopwatch_start(&t->watch, "the rest", begun);
    stopwatch_enter(&t->watch, "opening");
    bool ok = build_model(t, from, task->init, err) &&
              training_open(&t->training, &t->model, t->corpus, &t->plan->run, &t->rung->recipe,
                            t->plan->steps, err) &&
              (!task->teacher || training_teach(&t->training, task->teacher, err)) &&
              (!t->plan->profile || run_profile(t->training.workers.run, err));
    if (ok && from) restore(t, from);
    /* their weights and moments take as much memory as the training's own */
    if (from) state_free(from);
    if (task->init) checkpoint_free(task->init);
    if (!ok || !sample_open(&t->writer, t->training.workers.run, &t->model.config, err) ||
        !open_log(t, err))
        return false;
    t->budget =
        budget_open(t->plan, task->seconds, max_steps_of(t), closing_of(t), &t->training.progress);
    if (t->training.progress.decay_start > 0) follow_decay(t);
    t->training.steps = t->budget.steps;
    t->started = begun - t->training.progress.seconds;
    stopwatch_leave(&t->watch);
    return true;
}

static void close_training(Trainer *t) {
    training_close(&t->training);
    model_free(&t->model);
    sample_close(&t->writer);
    log_close(&t->log);
}

/* Refused: a state that already exceeds the plan. */
static bool check_budget(const Trainer *t, Error *err) {
    const Plan *plan = t->plan;
    const Progress *p = &t->training.progress;
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

static bool diverged(const Trainer *t, const char *what, int step, Error *err) {
    double rate = t->training.recipe.peak.learning_rate;
    return fail(err, "%s: %s at step %d; the learning rate of %.3g is too high: try --lr %.2g",
                t->rung->name, what, step, rate, verdict_lower_rate(t->rung->name, rate));
}

/* Forward and backward on a batch, and an update of the weights. */
static bool train_step(Trainer *t, LogRow *row, Error *err) {
    Progress *p = &t->training.progress;
    double start = clock_seconds(), rate;
    Step step;
    t->training.steps = t->budget.steps;
    stopwatch_enter(&t->watch, steps_rest);
    bool finite = training_step(&t->training, &step, &rate);
    stopwatch_leave(&t->watch);
    if (!isfinite(step.loss))
        return diverged(t, "the loss is no longer a number", p->step + 1, err);
    if (!finite) return diverged(t, "the gradient is no longer finite", p->step + 1, err);

    double end = clock_seconds();
    p->step_seconds += end - start;
    p->seconds = end - t->started;
    spark_add(&t->spark, step.loss);
    double characters = p->step * plan_step_characters(t->plan);
    *row = (LogRow){.step = p->step,
                    .characters = characters,
                    .seconds = p->seconds,
                    .rate = rate,
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
static bool keep_best(Trainer *t, double validation) {
    const char *path = t->rung->checkpoint;
    t->best_failed = (Error){0};
    stopwatch_enter(&t->watch, "saving");
    if (t->live) show_activity("saving");
    bool saved = outputs_hold(t->task->outputs, &t->best_failed) &&
                 save_best(path, &t->model, t->plan->run.seed, t->corpus, t->training.progress.step,
                           validation, &t->best_failed);
    stopwatch_leave(&t->watch);
    if (saved) t->training.progress.best = validation;
    t->measured = saved && t->plan->run.precision == FLOAT32;
    return saved;
}

/* Measures the loss on the whole held-out text, NaN if a person did not wait for it, and keeps the
 * weights if it is the lowest so far. */
static bool evaluate(Trainer *t, double *validation, Error *err) {
    const Plan *plan = t->plan;
    Progress *p = &t->training.progress;
    double begun = clock_seconds();
    if (t->live) show_activity("evaluating");
    stopwatch_enter(&t->watch, "evaluations");
    bool ok = training_evaluate(&t->training, 1, validation, err);
    stopwatch_leave(&t->watch);
    if (!ok) return false;
    if (isnan(*validation) && interrupted_twice()) return true;
    if (!isfinite(*validation)) return diverged(t, "the loss is no longer a number", p->step, err);
    double took = clock_seconds() - begun;
    if (p->step == 0) course_begin(t->course, *validation);
    stopwatch_enter(&t->watch, "samples");
    sample_write(&t->writer, &t->corpus->vocab, plan->run.seed, t->sample);
    stopwatch_leave(&t->watch);
    training_count_evaluation(&t->training, *validation);
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
static bool show_saving(Trainer *t) {
    const double often = 0.1;
    if (!t->live || clock_seconds() - t->shown < often) return false;
    show_activity("saving");
    t->shown = clock_seconds();
    return true;
}

/* Writes the state. It is called after the best weights are written, so that no state refers to a
 * missing file. */
static void keep_state(Trainer *t) {
    const Task *task = t->task;
    if (!task->keeps_state) return;
    stopwatch_enter(&t->watch, "saving");
    bool shown = show_saving(t);
    t->training.progress.log_length = log_flush(&t->log) ? (double)t->log.length : 0;
    t->training.progress.log_digest = digest_value(&t->log.digest);
    t->training.progress.seconds = clock_seconds() - t->started;
    t->state_failed = (Error){0};
    workers_collect(&t->training.workers);
    if (outputs_hold(task->outputs, &t->state_failed))
        save_state(t->plan->files->state, t->training.workers.run, t->plan, t->corpus,
                   &t->training.progress, task->results, task->result_count, &t->state_failed);
    if (shown) show_nothing();
    stopwatch_leave(&t->watch);
    t->saved = clock_seconds();
}

/* ---- all steps ---- */

/* In seconds. */
static double expected_evaluation(const Trainer *t) {
    return plan_evaluation(t->plan, t->corpus) * t->training.progress.step_seconds /
           t->training.progress.step;
}

/* If high rates no longer lower the loss, the rates begin to fall: as fast as in a training whose
 * peak was planned to end at the lowest loss. Rates that fall throughout need not. */
static void decay_early(Trainer *t) {
    Progress *p = &t->training.progress;
    double share = t->training.recipe.cooldown, steps = t->budget.steps;
    if (share <= 0 || share >= 1 || p->decay_start > 0 || !budget_early_decay(&t->budget, p))
        return;
    double length = p->lowest_step * share / (1 - share);
    double rate = recipe_step(&t->training.recipe, p->step, (int)steps).learning_rate;
    double left = ceil(length * rate / t->training.recipe.peak.learning_rate);
    if (p->step + left >= steps) return;
    p->decay_end = p->step + left;
    p->decay_start = fmax(1, p->decay_end - length); /* in the past if they fall already */
    follow_decay(t);
    if (!t->plan->quiet) show_early_decay(p);
}

static bool evaluate_and_keep(Trainer *t, Error *err) {
    double validation;
    if (!evaluate(t, &validation, err)) return false;
    keep_state(t);
    return true;
}

/* The page reads the log. */
static void renew_page(Trainer *t) {
    stopwatch_enter(&t->watch, "the page");
    log_flush(&t->log);
    report_renew(t->task->report,
                 &(ReportRung){t->rung, t->training.workers.run, &t->training.progress, t->course});
    stopwatch_leave(&t->watch);
}

/* Shows a verdict that matters now, once. */
static void show_news(Trainer *t) {
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

/* Are the windows as long as those of an evaluation? Before, its loss may rest, although the model
 * learns. */
static bool windows_are_whole(const Trainer *t) {
    return training_window(&t->training) == t->plan->run.length;
}

/* Takes one step, and then evaluates, saves and shows progress if due. Sets *last if it was the
 * last step. */
static bool advance(Trainer *t, bool *last, Error *err) {
    Progress *p = &t->training.progress;
    LogRow row;
    if (!train_step(t, &row, err)) return false;
    budget_expect(&t->budget, expected_evaluation(t));
    bool used = budget_used(&t->budget, p), due = budget_evaluation_due(&t->budget, p, used);
    bool ok = !due || evaluate(t, &row.validation, err);
    bool evaluated = due && !isnan(row.validation); /* a person may not have waited for it */
    if (evaluated && ok) row.sample = t->sample;
    bool judged = evaluated && !used && windows_are_whole(t);
    if (judged && ok) decay_early(t);
    log_row(&t->log, &row);
    course_add(t->course, &row);
    if (ok && !t->plan->quiet && (evaluated || p->step % COURSE_BLOCK == 0)) show_news(t);
    double now = clock_seconds();
    bool stops = judged && budget_early_stop(&t->budget, p);
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
static bool take_steps(Trainer *t, Error *err) {
    bool last = budget_complete(&t->budget, &t->training.progress);
    bool owes = last && t->training.progress.recent_count > 0;
    bool ok = !owes || evaluate_and_keep(t, err);
    while (ok && !last) ok = advance(t, &last, err);
    if (t->live && !ok) putchar('\n'); /* the message begins a new line, after the progress */
    if (ok && !t->plan->quiet && t->training.progress.early_stop > 0)
        show_early_stop(&t->training.progress);
    return ok;
}

/* ---- the end ---- */

/* An interruption before the first evaluation still leaves a checkpoint to sample from. The state
 * does not know of it: a training that is resumed ends as if it had never been interrupted. */
static bool keep_something(Trainer *t, Error *err) {
    double validation = NAN;
    bool kept = isfinite(t->training.progress.best) && file_exists(t->rung->checkpoint);
    if (kept || *t->best_failed.text) return true;
    if (!interrupted_twice() && !evaluate(t, &validation, err)) return false;
    if (isnan(validation))
        save_best(t->rung->checkpoint, &t->model, t->plan->run.seed, t->corpus,
                  t->training.progress.step, NAN, &t->best_failed);
    return true;
}

/* Sets the losses of the best checkpoint. */
static bool measure(Trainer *t, Result *result, Error *err) {
    double known = t->measured ? t->training.progress.best : NAN;
    stopwatch_enter(&t->watch, "losses of the best model");
    if (t->live) show_activity("measuring the best model");
    bool ok = measure_best(t->plan, t->rung, t->corpus, &t->model.config, known, result, err);
    stopwatch_leave(&t->watch);
    return ok;
}

/* A file that could not be written is reported at the end, when nothing is lost by ending. */
static void note_failures(Trainer *t, Error *failed) {
    if (*failed->text) return;
    if (*t->best_failed.text)
        *failed = t->best_failed;
    else if (*t->state_failed.text)
        *failed = t->state_failed;
    else if (!log_flush(&t->log))
        fail(failed, "%s: cannot be written", t->rung->log);
}

/* Divides the time of the steps into what their parts took, before the run is closed. */
static void split_steps(Trainer *t) {
    ProfileLine parts[MAX_LINES];
    if (!t->training.workers.run) return;
    int count = run_profile_lines(t->training.workers.run, parts, MAX_LINES / 2);
    stopwatch_split(&t->watch, steps_rest, parts, count);
}

bool train_rung(const Task *task, State *from, Result *result, Error *err) {
    Trainer t;
    const Plan *plan = task->plan;
    bool ok = open_training(&t, task, from, err) && check_budget(&t, err);
    if (ok && !plan->quiet) {
        show_training(&t.model, t.training.workers.run, plan, task->corpus,
                      t.training.progress.step);
        show_windows(training_window(&t.training), plan->run.length, t.training.progress.step);
        show_kernels(&t.training.progress, t.training.workers.run);
    }
    /* a trained model's loss is the first to be lowered; the state makes --init unnecessary */
    if (task->init && !from) ok = ok && evaluate_and_keep(&t, err);
    ok = ok && take_steps(&t, err);
    if (ok && !plan->quiet) show_sharing(&t.training.workers);
    ok = ok && keep_something(&t, err);
    if (ok) note_failures(&t, task->failed);
    if (ok && !file_exists(task->rung->checkpoint)) ok = fail(err, "%s", task->failed->text);
    split_steps(&t);
    training_close(&t.training); /* frees its memory before another run is opened */
    ok = ok && measure(&t, result, err);
    if (t.live) show_nothing();
    int steps = t.training.progress.early_stop > 0 ? t.budget.steps : t.training.progress.step;
    result->name = task->rung->name;
    result->seconds = clock_seconds() - t.started;
    result->time = plan->time;
    result->characters = steps * plan_step_characters(plan);
    result->compute = t.training.progress.compute;
    result->course = t.course;
    t.course->ended = budget_complete(&t.budget, &t.training.progress);
    close_training(&t);
    stopwatch_stop(&t.watch);
    if (ok && plan->profile) show_profile(task->rung->name, &t.watch);
    return ok;
}
