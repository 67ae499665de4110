#include "programs/train/plan.h"
#include "base/memory.h"
#include "library/message.h"
#include "programs/train/interruption.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- files ---- */

const char *rung_of(const char *name, size_t length) {
    for (int i = 0; tril_rung(i); i++)
        if (strlen(tril_rung(i)) == length && memcmp(tril_rung(i), name, length) == 0)
            return tril_rung(i);
    return NULL;
}

static bool copy_path(const char *from, char path[PATH_SIZE], Error *err) {
    int length = snprintf(path, PATH_SIZE, "%s", from);
    return length < PATH_SIZE || fail(err, "%s: too long a path", from);
}

/* `name` in the folder of `out`. */
static bool beside(const char *out, const char *name, char path[PATH_SIZE], Error *err) {
    const char *slash = strrchr(out, '/');
    int length = snprintf(path, PATH_SIZE, "%.*s%s", slash ? (int)(slash - out + 1) : 0, out, name);
    return length < PATH_SIZE || fail(err, "%s: too long a path", out);
}

/* `out` with the ending .safetensors, if it has it, replaced by another. */
static bool with_ending(const char *out, const char *ending, char path[PATH_SIZE], Error *err) {
    static const char usual[] = ".safetensors";
    size_t length = strlen(out), cut = strlen(usual);
    if (length > cut && strcmp(out + length - cut, usual) == 0) length -= cut;
    if (length + strlen(ending) >= PATH_SIZE) return fail(err, "%s: too long a path", out);
    for (size_t i = 0; i < length; i++) path[i] = out[i];
    snprintf(path + length, PATH_SIZE - length, "%s", ending);
    return true;
}

bool files_state(const char *out, char path[PATH_SIZE], Error *err) {
    return with_ending(out, ".last.safetensors", path, err);
}

static bool name_rung(RungFiles *rung, const Arguments *a, Error *err) {
    char file[64];
    snprintf(file, sizeof file, "%s.safetensors", rung->name);
    bool ok = rung->chosen ? copy_path(a->out, rung->checkpoint, err)
                           : beside(a->out, file, rung->checkpoint, err);
    return ok && (rung->chosen && a->log ? copy_path(a->log, rung->log, err)
                                         : with_ending(rung->checkpoint, ".csv", rung->log, err));
}

bool files_name(Files **named, const Arguments *a, const char *rung, bool ladder, Error *err) {
    Files *files;
    *named = NULL;
    if (!memory_alloc(&files, 1, sizeof *files, "the names of files", err)) return false;
    files->text = a->input;
    files->init = a->init;
    files->teacher = a->teacher;
    bool ok = files_state(a->out, files->state, err) &&
              beside(a->out, "report.html", files->page, err) &&
              (!ladder || beside(a->out, "ladder.csv", files->table, err));
    for (int i = 0; tril_rung(i) && files->rung_count < MAX_RUNGS && ok; i++) {
        bool chosen = strcmp(tril_rung(i), rung) == 0;
        if (!ladder && i > 0 && !chosen) continue;
        RungFiles *next = &files->rungs[files->rung_count++];
        next->name = tril_rung(i);
        next->idea = tril_rung_idea(i);
        next->chosen = chosen;
        next->baseline = !chosen && !ladder;
        ok = name_rung(next, a, err);
    }
    if (ok)
        *named = files;
    else
        files_free(files);
    return ok;
}

void files_free(Files *files) {
    memory_free(files);
}

/* ---- what follows from the decisions ---- */

bool plan_same_sizes(const TrilOptions *one, const TrilOptions *other) {
    const TrilOptions a = tril_options_sizes(one), b = tril_options_sizes(other);
    return strcmp(a.rung, b.rung) == 0 && a.context == b.context && a.layers == b.layers &&
           a.heads == b.heads && a.width == b.width && a.kv_heads == b.kv_heads &&
           a.hidden == b.hidden;
}

TrilOptions plan_options(const Plan *plan, const RungFiles *rung) {
    TrilOptions options = plan->options;
    options.rung = rung->name;
    /* "auto" is decided: another number of steps does not change it */
    if (strcmp(options.windows, "auto") == 0)
        options.windows = tril_rung_recipe(rung->name).grows ? "grow" : "whole";
    if (rung->chosen) return options;
    options.learning_rate = options.weight_decay = NAN;
    options.teacher = NULL;
    return options;
}

bool plan_has_time(const Plan *plan) {
    return !isnan(plan->options.time);
}

bool plan_is_bf16(const Plan *plan) {
    return strcmp(plan->options.precision, "bf16") == 0;
}

double plan_time(const Plan *plan) {
    return plan_has_time(plan) ? plan->options.time : 0;
}

double plan_step_characters(const Plan *plan) {
    return plan->options.batch * plan->options.context;
}

double plan_batches(const Plan *plan, size_t length) {
    return ceil((double)length / plan_step_characters(plan));
}

static double held_out_batches(const Plan *plan, const Input *input) {
    return plan_batches(plan, input->length - input->train);
}

/* A batch takes about a quarter of a step. */
double plan_evaluation(const Plan *plan, const Input *input) {
    return held_out_batches(plan, input) / 4;
}

/* All but the first is in float32, which takes nearly twice as long as bfloat16. */
double plan_closing(const Plan *plan, const Input *input, bool known) {
    double train = fmin(plan_batches(plan, input->train), TRAIN_BATCHES);
    double best = (known ? 0 : 1) + train / held_out_batches(plan, input);
    return 1 + (plan_is_bf16(plan) ? 1.8 : 1) * best;
}

/* ---- the decisions ---- */

/* The share of a rung's seconds that its evaluations take, as the budget arranges them: the last
 * and what follows it, and before it at most nine, which take at most about a twentieth. */
static double share_of_evaluations(const Plan *plan, const Input *input, double seconds) {
    const double earlier = 9, rare = 20, least = 0.1; /* the least share for steps */
    double step = plan_step_characters(plan) / plan->choice.speed;
    double one = plan_evaluation(plan, input) * step;
    double closing = plan_closing(plan, input, !plan_is_bf16(plan)) * one;
    double left = fmax(least * seconds, seconds - closing);
    double between = fmax(seconds / (earlier + 1), rare * one);
    left -= fmin(earlier, floor(left / (between + one))) * one;
    return 1 - left / seconds;
}

/* Ends a search that the user has interrupted. */
static int is_interrupted(void *user) {
    (void)user;
    return interrupted();
}

/* Chooses sizes for the time limit, and expects a number of steps. The speed is measured also where
 * all sizes are given, for windows depend on the epochs. */
static bool decide_by_time(Plan *plan, const Input *input, Error *err) {
    TrilError error;
    TrilOptions *o = &plan->options;
    double characters = (double)input->train, most_steps = 1e9;
    double seconds = o->time / (plan->ladder ? plan->rung_count : 1);
    if (isnan(o->epochs)) o->epochs = tril_epochs_that_help(characters, plan->files->init != NULL);
    if (tril_options_choose(o, input->text, seconds, is_interrupted, NULL, &plan->choice, &error) !=
        TRIL_OK)
        return message_take(err, &error, NULL);
    plan->evaluating = share_of_evaluations(plan, input, seconds);
    double read = plan->choice.speed * seconds * (1 - plan->evaluating);
    if (o->epochs > 0) read = fmin(read, o->epochs * characters);
    plan->epochs_seen = read / characters;
    o->steps = floor(fmin(most_steps, fmax(1, read / plan_step_characters(plan))));
    return !interrupted() || fail(err, "interrupted before training began");
}

/* Like the library, but with the teacher's name. An unset context will be no longer than its. */
static bool check_teacher(const Plan *plan, const TrilModel *teacher, Error *err) {
    double context = plan->options.context;
    if (!teacher || !(tril_model_sizes(teacher).context < context)) return true;
    return fail(err,
                "%s: its context of %g characters is shorter than the %g of the model to train",
                plan->files->teacher, tril_model_sizes(teacher).context, context);
}

/* The decisions are those for the last rung, which is the largest or the chosen one. */
static bool decide(Plan *plan, const Input *input, Error *err) {
    TrilError error;
    TrilOptions *o = &plan->options;
    const char *chosen = o->rung;
    double epochs;
    o->rung = plan->rungs[plan->rung_count - 1].name;
    o->precision = tril_precision(o->precision);
    if (plan_has_time(plan) && !decide_by_time(plan, input, err)) return false;
    if (tril_options_decide(o, input->text, plan->files->init != NULL, &epochs, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    if (!plan_has_time(plan)) plan->epochs_seen = epochs;
    o->rung = chosen;
    return true;
}

bool plan_make(Plan *plan, const Arguments *arguments, const TrilOptions *options,
               const Files *files, bool ladder, const Input *input, const TrilModel *teacher,
               bool resumed, Error *err) {
    *plan = (Plan){.arguments = arguments,
                   .files = files,
                   .rungs = files->rungs,
                   .rung_count = files->rung_count,
                   .ladder = ladder,
                   .options = *options,
                   .teacher = teacher ? tril_model_digest(teacher) : 0};
    TrilOptions *o = &plan->options;
    o->teacher = teacher;
    if (!check_teacher(plan, teacher, err)) return false;
    if (!resumed) return decide(plan, input, err);
    o->precision = tril_precision(o->precision);
    o->threads = tril_threads(o->threads);
    return true;
}
