#include "programs/train/trainer.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/number.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "base/world.h"
#include "programs/common.h"
#include "programs/train/budget.h"
#include "programs/train/display.h"
#include "programs/train/interruption.h"
#include "programs/train/report.h"
#include "programs/train/saved.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAVE_SECONDS = 60 }; /* the longest time between two saves of the state */

static const char no_number[] = "the loss is no longer a number";

/* The training of a rung. */
typedef struct {
    Ladder *ladder;
    const Plan *plan;
    const RungPlan *rung;
    TrilModel *model, *own; /* the model if it is owned here, not by the plan; released here */
    TrilTraining *training; /* that of `model` */
    Result *result;         /* so far: the ladder's last one */
    Course *course;         /* the result's; read from the log */
    Budget budget;
    int expected; /* Budget.steps at the opening */
    bool keeps_state;
    double started;      /* world_seconds(), less the seconds of earlier runs */
    double saved;        /* world_seconds() when the state was last written */
    TrilProgress opened; /* the progress at the opening */
    double evaluating;   /* seconds of evaluations */
    Traffic traffic;     /* of the steps */
    FILE *log;
    LogRow row;      /* that of the last step, logged or not */
    double loss_sum; /* sum of the training losses of the steps since the log's last row */
    int loss_count;  /* the number of these steps */
    uint64_t digest; /* of the kept weights; 0 until they are saved or measured */
    bool measured;   /* Result.best is the checkpoint's float32 loss, with these kernels */
    bool said[STILL_FALLING + 1];    /* the kinds of verdicts that were shown */
    bool shows, live;                /* prints each evaluation, and progress on a terminal */
    double shown;                    /* clock_seconds() when the progress was last shown */
    Error best_failed, state_failed; /* the last error of writing the file, or empty */
} Trainer;

/* ---- the beginning ---- */

/* Tells an evaluation to stop if the user does not wait for it. */
static int is_stopped(void *user) {
    (void)user;
    return world_first(interrupted_twice());
}

/* Forgets the best model if its file was removed, or is none any more, so that it is written again.
 */
static void notice_removal(Trainer *t) {
    if (file_kind(t->rung->checkpoint) != FILE_REGULAR) t->result->best = INFINITY;
}

static void renew_progress(Trainer *t) {
    t->result->now = tril_training_progress(t->training);
    t->result->validation = t->result->now.lowest;
}

/* Opens the log, and reads the course from it. */
static bool open_log(Trainer *t, Error *err) {
    const TrilProgress *now = &t->result->now;
    if (now->step > 0 && now->lowest_step <= 0 && isfinite(now->lowest))
        course_add(t->course, &(LogRow){.loss = NAN, .validation = now->lowest});
    if (!log_open(&t->log, t->rung->log, now->step, t->course, err)) return false;
    /* earlier steps may have had another batch */
    t->row.characters = t->course->row.step == now->step
                            ? t->course->row.characters
                            : now->step * plan_step_characters(t->plan);
    return true;
}

/* Opens the training of the plan's state; else that of the model of --init or of random weights. */
static bool open_training(Trainer *t, double seconds, Error *err) {
    const Plan *plan = t->plan;
    const TrilOptions *options = &t->rung->options;
    const double begun = world_seconds();
    TrilStatus status = TRIL_OK;
    if (t->rung->resumed) {
        t->own = plan->resumed;
        t->ladder->plan->resumed = NULL;
        notice_removal(t);
    } else if (!t->rung->chosen || !plan->init) {
        status = tril_model_make(&t->own, &plan->corpus->vocab, options, err);
    }
    t->model = t->own ? t->own : plan->init;
    if (status == TRIL_OK)
        status = tril_training_open(&t->training, t->model, plan->corpus, options, err);
    if (status == TRIL_OK && plan->arguments->profile)
        status = tril_training_profile(t->training, err);
    if (status != TRIL_OK) return false;
    t->result->parameters = tril_model_parameters(t->model);
    renew_progress(t);
    if (!open_log(t, err)) return false;
    t->started = begun - t->result->seconds;
    const double opening = world_seconds() - begun;
    t->result->seconds += opening;
    t->result->other += opening;
    t->budget = budget_open(plan, t->rung, seconds, opening, t->result);
    if (plan->ladder) budget_limit_steps(&t->budget, plan->options.steps); /* all take as many */
    t->expected = t->budget.steps;
    const int steps = (int)fmax(t->budget.steps, t->result->now.step); /* none may be left */
    if (tril_training_set_steps(t->training, steps, err) != TRIL_OK) return false;
    t->opened = t->result->now;
    t->saved = begun;
    return true;
}

/* ---- one step ---- */

static bool diverged(const Trainer *t, const char *what, int step, Error *err) {
    double rate = tril_training_options(t->training).learning_rate;
    return fail(err, "%s: %s at step %d; the learning rate of %.3g is too high: try --lr %.2g",
                t->rung->name, what, step, rate, verdict_lower_rate(t->rung, rate));
}

/* Takes one of the steps that the budget allows, and sets its row. */
static bool train_step(Trainer *t, Error *err) {
    Result *r = t->result;
    const Traffic before = world_traffic();
    TrilStatus status = tril_training_set_steps(t->training, t->budget.steps, err);
    if (status == TRIL_OK) status = tril_training_step(t->training, err);
    const Traffic after = world_traffic();
    t->traffic.bytes += after.bytes - before.bytes;
    t->traffic.seconds += after.seconds - before.seconds;
    renew_progress(t);
    if (status == TRIL_DIVERGED)
        return diverged(t, isfinite(r->now.loss) ? "the gradient is no longer finite" : no_number,
                        r->now.step + 1, err);
    if (status != TRIL_OK) return false;

    r->seconds = world_seconds() - t->started;
    const double characters = t->row.characters + plan_step_characters(t->plan);
    t->row = (LogRow){.step = r->now.step,
                      .characters = characters,
                      .seconds = r->seconds,
                      .rate = r->now.learning_rate,
                      .loss = r->now.loss,
                      .validation = NAN,
                      .norm = r->now.norm,
                      .compute = r->now.operations,
                      .speed = characters / r->now.seconds};
    return true;
}

/* ---- one evaluation ---- */

/* Writes the checkpoint. If that fails, `best_failed` says why, and the next evaluation retries. */
static bool save_model(Trainer *t) {
    Error *failed = &t->best_failed;
    TrilMetadata metadata[PLAN_METADATA + 1] = {{NULL, NULL}};
    *failed = (Error){0};
    plan_metadata(t->plan, metadata);
    if (!folder_hold(t->plan->folder, failed) ||
        tril_model_save(t->model, t->rung->checkpoint, metadata, failed) != TRIL_OK)
        return false;
    t->digest = tril_model_digest(t->model);
    return true;
}

/* Generates a line, as ./sample does. It shows how the model learns to spell, because the seed
 * is always the same. Without memory the line ends early. */
static void write_sample(Trainer *t) {
    TrilSampling sampling = tril_sampling();
    TrilWriter *writer;
    char *sample = t->row.sample;
    int columns;
    sampling.seed = t->plan->options.seed;
    sampling.threads = (int)t->plan->options.threads;
    *sample = 0;
    bool room = tril_writer_open(&writer, t->model, &sampling, &(TrilError){0}) == TRIL_OK;
    for (int i = 0; room && i < SAMPLE_COLUMNS; i++) {
        char character[UTF8_MAX];
        const int length = tril_writer_write(writer, character);
        room = length > 0 && glyph_append(character, (size_t)length, sample, SAMPLE_SIZE);
    }
    tril_writer_close(writer);
    sample[escape_fitting(sample, strlen(sample), SAMPLE_COLUMNS, &columns)] = 0;
}

/* Returns true if an evaluation is printed: all of them with --eval-every, else one in each tenth
 * of the steps, and the last one. */
static bool prints_evaluation(const Trainer *t) {
    const double steps = t->budget.steps, step = t->result->now.step, before = t->course->last.step;
    return t->shows && (floor(10 * step / steps) > floor(10 * before / steps) || step == 0 ||
                        step >= steps || !isnan(t->plan->arguments->options.eval_every));
}

/* Measures the loss on the held-out text, or on the budget's sample of it, and keeps the weights if
 * it is the lowest so far. Sets the row's sample and its validation loss, which is unknown if the
 * user did not wait. */
static bool evaluate(Trainer *t, Error *err) {
    Result *r = t->result;
    double begun = world_seconds(), recent = r->now.recent, validation;
    t->row.validation = NAN;
    show_activity(t->plan, "evaluating");
    TrilStatus status = tril_training_evaluate(t->training, plan_evaluated(t->plan), is_stopped,
                                               NULL, &validation, err);
    t->evaluating += world_seconds() - begun;
    if (status == TRIL_STOPPED) return true;
    if (status == TRIL_DIVERGED) return diverged(t, no_number, r->now.step, err);
    if (status != TRIL_OK) return false;
    t->row.validation = validation;
    renew_progress(t);
    if (r->now.step == 0) course_add(t->course, &(LogRow){.loss = NAN, .validation = validation});
    write_sample(t);
    const char *mark = "  ";
    notice_removal(t);
    if (validation < r->best) {
        show_activity(t->plan, "saving");
        const bool saved = world_first(save_model(t));
        if (saved) r->best = validation;
        t->measured = saved && !plan_is_bf16(t->plan);
        mark = saved ? " *" : " not saved";
    }
    r->seconds = world_seconds() - t->started;
    t->budget.evaluation = t->started + r->seconds - begun;
    r->other += t->budget.evaluation;
    if (prints_evaluation(t))
        show_evaluation(r, t->plan, t->budget.steps, recent, validation, mark, t->row.sample);
    return true;
}

/* Limits output to ten times a second; otherwise a terminal that nobody reads, such as that of an
 * interrupted mpirun, would fill up and block the program. */
static bool take_turn_to_show(Trainer *t) {
    const double often = 0.1;
    if (!t->live || clock_seconds() - t->shown < often) return false;
    t->shown = clock_seconds();
    return true;
}

/* Writes the state, after the best weights, so that no state refers to a missing file. */
static void keep_state(Trainer *t) {
    const Ladder *l = t->ladder;
    Result *r = t->result;
    if (!t->keeps_state) return;
    bool shown = take_turn_to_show(t);
    if (shown) show_activity(t->plan, "saving");
    log_flush(t->log);
    r->seconds = world_seconds() - t->started;
    t->state_failed = (Error){0};
    if (world_first(folder_hold(t->plan->folder, &t->state_failed)))
        saved_write(t->plan, t->training, l->results + CLOSED_FORMS, l->count - CLOSED_FORMS,
                    &t->state_failed);
    if (shown) show_activity(t->plan, NULL);
    t->saved = world_seconds();
}

/* ---- training ---- */

/* Lets the rates fall, and the training end with them, if high rates no longer lower the loss. */
static void cool_down_early(Trainer *t) {
    TrilError none;
    const double patience = t->plan->options.patience;
    if (patience >= 1 || !budget_stale(t->result, patience / 2 * t->budget.steps) ||
        tril_training_set_steps(t->training, t->budget.steps, &none) != TRIL_OK ||
        !tril_training_cool_down(t->training))
        return;
    renew_progress(t);
    budget_limit_steps(&t->budget, t->result->now.cooldown_end);
    if (t->shows)
        show_line("  no lower loss since step %d: the learning rate begins to fall",
                  t->result->now.lowest_step);
}

static bool evaluate_and_keep(Trainer *t, Error *err) {
    if (!evaluate(t, err)) return false;
    keep_state(t);
    return true;
}

/* Shows a verdict that already matters, once. */
static void show_news(Trainer *t) {
    const Verdict *v = &t->result->verdict;
    verdicts_judge(t->ladder);
    if (v->kind == NO_VERDICT || t->said[v->kind]) return;
    t->said[v->kind] = true;
    show_line("  %s", v->text);
}

/* Decides whether the step was the last one. `used`: the time is over; `judged`: the loss of its
 * evaluation may end the training early. */
static bool decide_end(Trainer *t, bool used, bool judged) {
    Result *r = t->result;
    bool stops = judged && budget_stale(r, t->plan->options.patience * t->budget.steps);
    r->time = used && plan_has_time(t->plan) ? t->plan->options.time : 0;
    r->early_stop = stops ? t->budget.steps : 0;
    return used || stops || budget_complete(&t->budget, r) || world_first(interrupted());
}

/* Logs the steps since the last row, if any. A save ends a row, so no state needs a part of one. */
static void log_steps(Trainer *t) {
    if (t->loss_count == 0) return;
    t->row.loss = t->loss_sum / t->loss_count;
    log_row(t->log, &t->row);
    course_add(t->course, &t->row);
    t->loss_sum = t->loss_count = 0;
}

/* Takes one step; evaluates, saves and shows progress if due. Sets *last if it was the last one. */
static bool advance(Trainer *t, bool *last, Error *err) {
    Result *r = t->result;
    if (!train_step(t, err)) {
        log_steps(t);
        return false;
    }
    bool used = budget_used(&t->budget, r, 0);
    bool ok = !budget_evaluation_due(&t->budget, r, used) || evaluate(t, err);
    bool evaluated = !isnan(t->row.validation); /* the user may not have waited for it */
    /* it may have taken less time than expected, or more: another one must be worth it */
    if (evaluated) used = budget_used(&t->budget, r, used ? 0.1 : 0.02);
    /* while windows are short, an evaluation's loss may stay level although the model learns */
    bool judged =
        evaluated && !used && tril_training_window(t->training) == t->plan->options.context;
    if (judged && ok) cool_down_early(t);
    const double now = t->started + r->seconds;
    *last = decide_end(t, used, judged);
    bool saves = evaluated || *last || (t->keeps_state && now - t->saved >= SAVE_SECONDS);
    t->loss_sum += t->row.loss;
    t->loss_count++;
    if (saves || !ok || log_has_row(r->now.step)) log_steps(t);
    if (!ok) return false;
    if (t->shows && evaluated) show_news(t);
    if (saves) keep_state(t);
    const double saving = evaluated ? fmax(0, t->saved - now) : 0;
    t->budget.evaluation += saving;
    r->other += saving;
    if (!*last) report_renew(t->ladder, t->model, now, evaluated);
    if (!evaluated && take_turn_to_show(t)) show_progress(r, t->plan, t->budget.steps);
    return true;
}

/* Takes the remaining steps. If none remain, an interrupted last evaluation may be missing. */
static bool take_steps(Trainer *t, Error *err) {
    const double few = 0.7; /* of the expected steps */
    bool last = budget_complete(&t->budget, t->result);
    bool owes = last && t->result->now.recent_steps > 0 &&
                budget_evaluation_due(&t->budget, t->result, true);
    bool ok = !owes || evaluate_and_keep(t, err);
    while (ok && !last) ok = advance(t, &last, err);
    if (t->live && !ok) putchar('\n'); /* the message begins a new line, after the progress */
    if (ok && t->shows && plan_has_time(t->plan) && !interrupted() && t->result->early_stop <= 0 &&
        t->result->now.step < few * t->expected)
        show_line("  took only %d of about %s: they were slower than measured before",
                  t->result->now.step, count_of(t->expected, "step"));
    if (ok && t->shows && t->result->early_stop > 0)
        show_line("  no lower loss since step %d: the training ends early",
                  t->result->now.lowest_step);
    return ok;
}

/* ---- the end ---- */

/* Writes a checkpoint to sample from after an interruption before the first evaluation. The state
 * does not record it, so a resumed training run ends as if it had never been interrupted. */
static bool keep_something(Trainer *t, Error *err) {
    notice_removal(t);
    if (world_first(isfinite(t->result->best) || *t->best_failed.text)) return true;
    t->row.validation = NAN;
    if (!world_first(interrupted_twice()) && !evaluate(t, err)) return false;
    if (isnan(t->row.validation)) save_model(t);
    return true;
}

/* Sets *loss to that of the checkpoint on the held-out text, or on part of the training text,
 * unless the user does not wait. */
static bool measure_part(const Trainer *t, const TrilModel *kept, bool on_training_part,
                         double *loss, Error *err) {
    double found;
    const double some = TRAIN_BATCHES * plan_step_characters(t->plan);
    const size_t characters =
        on_training_part ? (size_t)fmax(1, t->plan->part * some) : plan_evaluated(t->plan);
    if (is_stopped(NULL)) return true;
    TrilStatus status = tril_text_evaluate(
        t->plan->corpus, kept, on_training_part, characters, (int)t->plan->options.batch,
        (int)t->plan->options.threads, is_stopped, NULL, &found, err);
    if (status == TRIL_OK) *loss = found;
    return status == TRIL_OK || status == TRIL_STOPPED;
}

/* Loads the checkpoint. Only the first process has written one: for the others' own model,
 * share_weights follows. */
static bool load_best(Trainer *t, TrilModel **kept, Error *err) {
    const char *path = t->rung->checkpoint;
    *kept = t->model;
    if (world_rank() > 0) return true;
    if (tril_model_load(kept, path, err) != TRIL_OK) return false;
    const TrilOptions has = tril_model_sizes(*kept);
    if (plan_same_sizes(&has, &t->rung->options) &&
        tril_tokenizer_same(tril_model_tokenizer(*kept), &t->plan->corpus->vocab) &&
        (t->digest == 0 || t->digest == tril_model_digest(*kept)))
        return true;
    tril_model_free(*kept);
    return fail(err, "%s: was replaced by another program", path);
}

/* Gives the model the first process's weights. */
static void share_weights(TrilModel *model) {
    TrilTensor tensor;
    for (int i = 0; world_size() > 1 && tril_model_tensor(model, i, &tensor); i++)
        world_broadcast(tensor.data, sizeof(float) * (size_t)tensor.rows * (size_t)tensor.columns);
}

/* Sets the losses of the best checkpoint, read back from its file, in float32: on the held-out
 * text, unless the evaluation that saved it measured the same, and on at most TRAIN_BATCHES batches
 * spread over the training text. If the user does not wait, the first is the one in the file, and
 * the other is unknown. */
static bool measure(Trainer *t, Error *err) {
    Result *result = t->result;
    TrilModel *kept;
    show_activity(t->plan, "evaluating the best model");
    if (!load_best(t, &kept, err)) return false;
    const double best = isfinite(t->result->best) ? t->result->best : NAN;
    result->sampled = t->plan->part < 1;
    double in_file = result->sampled ? best : tril_model_loss(kept); /* it has no sample's loss */
    const bool known = world_first(t->measured && fabs(in_file - best) < 1e-6);
    result->validation = known ? best : in_file;
    share_weights(kept);
    const bool ok = measure_part(t, kept, true, &result->train, err) &&
                    (known || measure_part(t, kept, false, &result->validation, err));
    t->digest = tril_model_digest(kept);
    result->parameters = tril_model_parameters(kept);
    if (kept != t->model) tril_model_free(kept);
    return ok;
}

/* Keeps an error about a file. It is reported at the end, when nothing is lost by ending. */
static void note_failures(Trainer *t) {
    Error *failed = &t->ladder->failed;
    if (*t->best_failed.text)
        *failed = t->best_failed;
    else if (*t->state_failed.text)
        *failed = t->state_failed;
    else if (!log_flush(t->log))
        fail(failed, "%s: cannot be written", t->rung->log);
}

/* Sets the parts of the result not from the checkpoint. A rung that ended early is complete. */
static void note_work(Trainer *t) {
    Result *r = t->result;
    double steps = r->early_stop > 0 ? t->budget.steps : r->now.step;
    if (r->now.cooldown_end > 0 && r->now.step >= r->now.cooldown_end)
        steps = t->plan->options.steps;
    if (budget_complete(&t->budget, r)) r->characters = steps * plan_step_characters(t->plan);
    r->seconds = clock_seconds() - t->started;
    r->time = plan_has_time(t->plan) ? t->plan->options.time : 0;
}

bool train_rung(Ladder *ladder, const RungPlan *rung, double seconds, bool keeps_state,
                Error *err) {
    const double begun = clock_seconds();
    const bool says = !ladder->plan->arguments->quiet, profiles = ladder->plan->arguments->profile;
    Result *result = &ladder->results[ladder->count - 1];
    Trainer t = {.ladder = ladder,
                 .plan = ladder->plan,
                 .rung = rung,
                 .keeps_state = keeps_state,
                 .result = result,
                 .course = &ladder->courses[ladder->count - 1],
                 .started = begun,
                 .shows = plan_shows_steps(ladder->plan) && rung->chosen,
                 .live = says && terminal_is(stdout)};
    bool ok = open_training(&t, seconds, err);
    if (ok && says) show_training(rung, t.model, t.training, t.plan, t.shows);
    if (ok && t.shows && t.plan->part < 1)
        show_line("  evaluations read about %s of the %s held-out characters, evenly spaced: all "
                  "of them would take too much of the time",
                  grouped((double)plan_evaluated(t.plan)), grouped(plan_held_out(t.plan)));
    /* with --init, the starting loss is the one to beat */
    if (ok && !rung->resumed && t.model == t.plan->init) ok = evaluate_and_keep(&t, err);
    ok = ok && take_steps(&t, err);
    RungTimes times = {.steps = result->now.seconds - t.opened.seconds,
                       .evaluations = t.evaluating};
    if (ok && t.shows) show_sharing(&t.traffic, result->now.step - t.opened.step, times.steps);
    ok = ok && keep_something(&t, err);
    if (ok) note_failures(&t);
    if (ok && *ladder->failed.text && file_kind(rung->checkpoint) != FILE_REGULAR)
        ok = fail(err, "%s", ladder->failed.text);
    if (t.training && profiles) {
        times.count = tril_training_parts(t.training, times.parts, MAX_PARTS);
        times.kernels = tril_training_kernels(t.training);
        times.memory = tril_training_memory(t.training) + (double)tril_model_parameters(t.model);
    }
    tril_training_close(t.training); /* frees memory and the workers for the next model */
    ok = ok && measure(&t, err);
    show_activity(t.plan, NULL);
    if (ok) note_work(&t);
    tril_model_free(t.own);
    if (t.log) fclose(t.log);
    times.all = clock_seconds() - begun;
    times.digest = t.digest;
    if (ok && profiles) show_profile(rung->name, t.plan->corpus, &times);
    return ok;
}
