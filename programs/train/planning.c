#include "programs/train/planning.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/world.h"
#include "programs/common.h"
#include "programs/train/budget.h"
#include "programs/train/display.h"
#include "programs/train/saved.h"
#include "programs/train/shell.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

static void name_files(Plan *plan) {
    folder_file(plan->folder, FOLDER_STATE, "", plan->state_file);
    folder_file(plan->folder, FOLDER_PAGE, "", plan->page);
    folder_file(plan->folder, FOLDER_TABLE, "", plan->table);
}

/* Gives each rung the options of the plan. The learning rate is for --model alone. */
static void share_options(Plan *plan) {
    for (RungPlan *rung = plan->rungs; rung < plan->rungs + plan->rung_count; rung++) {
        rung->options = plan->options;
        rung->options.rung = rung->name;
        if (!rung->chosen) rung->options.learning_rate = NAN;
    }
}

/* Lists the rungs to train, names their files, and checks their sizes. */
static bool list_rungs(Plan *plan, Error *err) {
    for (int i = 0; tril_rung(i) && plan->rung_count < MAX_RUNGS; i++) {
        const char *name = tril_rung(i);
        const bool chosen = strcmp(name, plan->options.rung) == 0;
        if (!chosen && !plan->ladder && i > 0) continue;
        RungPlan *rung = &plan->rungs[plan->rung_count++];
        rung->name = name;
        rung->idea = tril_rung_idea(i);
        rung->chosen = chosen;
        rung->baseline = !chosen && !plan->ladder;
        rung->resumed = plan->resumed && strcmp(name, plan->state.options.rung) == 0;
        for (const Result *r = plan->known; r < plan->known + plan->known_count; r++)
            if (!rung->known && strcmp(name, r->name) == 0) rung->known = r;
        const char *file = chosen ? FOLDER_MODEL : name;
        folder_file(plan->folder, file, ".safetensors", rung->checkpoint);
        folder_file(plan->folder, file, ".csv", rung->log);
    }
    share_options(plan);
    for (int i = 0; i < plan->rung_count; i++)
        if (tril_options_check(&plan->rungs[i].options, err) != TRIL_OK) return false;
    return true;
}

/* Fails if a text is in the folder of an earlier run, which a new run would rename. */
static bool check_texts(const Plan *plan, Error *err) {
    for (int i = 0; i < plan->texts.all && folder_is_used(plan->folder); i++) {
        const char *text = plan->texts.files[i].path;
        if (strcmp(text, "-") != 0 && folder_contains(plan->folder, text))
            return fail(err,
                        "%s: is in the folder of an earlier run, %s, which a new run renames; move "
                        "it, or choose another --out",
                        text, plan->arguments->out);
    }
    return true;
}

/* ---- the state of the training that is resumed ---- */

/* Returns true if the state is of this text with this share held out. */
static bool is_text_of_state(const Plan *plan, const char *text, size_t length, double held_out) {
    return digest_bytes(text, length) == plan->state.text && held_out == plan->options.held_out;
}

/* Sets *wanted to whether to resume the state. --continue skips one of another text or rung. */
static bool is_wanted(Plan *plan, bool *wanted, Error *err) {
    TrilOptions now = plan->options;
    double held_out = now.held_out;
    size_t length;
    *wanted = true;
    if (!plan->arguments->continues) return true;
    if (!command_line_apply(plan->arguments, OVER_DEFAULTS, &now, err)) return false;
    const char *text = texts_content(&plan->texts, plan->options.bytes, &held_out, &length, err);
    /* bytes cannot be read as the state's UTF-8 */
    if (!text && now.bytes == plan->options.bytes) return false;
    *wanted = text && strcmp(now.rung, plan->options.rung) == 0 &&
              is_text_of_state(plan, text, length, held_out);
    return true;
}

/* Loads the state to resume, if there is one that is wanted. */
static bool load_state(Plan *plan, Error *err) {
    const Arguments *asked = plan->arguments;
    const char *path = plan->state_file;
    bool wanted;
    if (file_kind(path) == FILE_NONE)
        return asked->continues ||
               fail(err,
                    "%s: no such file, so there is no run to resume; name the --out of that run, "
                    "or begin a new one without --resume",
                    path);
    /* the state makes --init unnecessary, but a path to nothing is still an error */
    if (asked->init && file_kind(asked->init) == FILE_NONE)
        return fail(err, "%s: cannot be opened: %s", asked->init, strerror(errno));
    if (!saved_load(plan, err) || !is_wanted(plan, &wanted, err)) return false;
    if (wanted) return true;
    const Texts texts = plan->texts;
    Folder *folder = plan->folder;
    tril_model_free(plan->resumed);
    *plan = (Plan){.arguments = asked, .texts = texts, .folder = folder};
    name_files(plan);
    return true;
}

/* ---- a new run ---- */

/* Sets the options of a new run. Without a preset, the context and the batch follow from the
 * text and the rung, and with a time limit all sizes are chosen later. */
static bool begin_anew(Plan *plan, Error *err) {
    const Arguments *asked = plan->arguments;
    TrilOptions *o = &plan->options;
    char path[PROGRAM_PATH];
    if (!check_texts(plan, err)) return false;
    *o = tril_options();
    plan->ladder = asked->ladder;
    if (!asked->preset) o->context = o->batch = NAN;
    if (!isnan(asked->options.time) && !asked->preset) o->layers = o->heads = o->width = NAN;
    if (!asked->init) return true;
    program_model(asked->init, path);
    if (tril_model_load(&plan->init, path, err) != TRIL_OK) return false;
    const TrilOptions sizes = tril_model_sizes(plan->init);
    tril_options_take_sizes(o, &sizes);
    o->bytes = tril_model_tokenizer(plan->init)->bytes;
    return true;
}

/* ---- the options ---- */

/* Lays the command line over the options of the beginning. */
static bool lay_options(Plan *plan, Error *err) {
    const Arguments *asked = plan->arguments;
    const OptionBase over = plan->resumed ? OVER_RUN : plan->init ? OVER_MODEL : OVER_DEFAULTS;
    char path[PROGRAM_PATH];
    if (plan->resumed && asked->ladder && !plan->ladder)
        return fail(err, "%s: was trained without --ladder; leave it out", plan->state_file);
    if (command_line_apply(asked, over, &plan->options, err)) return true;
    if (plan->init) program_model(asked->init, path);
    return over != OVER_DEFAULTS && message_of(err, plan->resumed ? plan->state_file : path);
}

/* Fails for an option of the command line that has no effect on this training. In a ladder, some
 * rung uses each option. */
static bool check_effect(const Plan *plan, Error *err) {
    TrilOptions o = plan->options;
    TrilError error;
    char given[TRIL_OPTION_SIZE];
    if (plan->ladder) o.rung = NULL;
    for (int i = 0; tril_option(i); i++)
        if (tril_options_get(&plan->arguments->options, i, given) &&
            tril_option_effect(i, &o, &error) != TRIL_OK)
            return fail(err, "--%s", error.text);
    return true;
}

/* Fails if a rung has had more training than the plan gives: otherwise it would be trained again,
 * and a worse model would replace its own. A complete rung that had a time limit got its share; a
 * complete baseline is kept. */
static bool check_budget(const Plan *plan, Error *err) {
    const TrilOptions *o = &plan->options;
    for (const RungPlan *rung = plan->rungs; rung < plan->rungs + plan->rung_count; rung++) {
        const Result *r = rung->known;
        if (!r || (rung->baseline && !rung->resumed)) continue;
        const double seconds = r->time > 0 && !rung->resumed ? 0 : r->seconds,
                     steps = rung->resumed ? r->now.step
                                           : floor(r->characters / plan_step_characters(plan));
        if (plan_has_time(plan) && seconds > o->time + 1)
            return fail(
                err, "%s: %s was trained for %.0f seconds, longer than --time %.0f; give more time",
                plan->state_file, rung->name, seconds, o->time);
        if (!plan_has_time(plan) && steps > o->steps)
            return fail(
                err, "%s: %s was trained for %.0f steps, more than --steps %.0f; give more steps",
                plan->state_file, rung->name, steps, o->steps);
    }
    return true;
}

/* Quotes the command for a shell; the beginning of one with many files. */
static bool quote_command(Plan *plan, Error *err) {
    plan->command = buffer_begin("the command", err);
    shell_command(&plan->command, plan->arguments->command, plan->arguments->count, 4096);
    return !plan->command.failed;
}

int plan_open(Plan **made, const Arguments *arguments, Error *err) {
    Plan *plan;
    *made = NULL;
    if (!memory_alloc(&plan, 1, sizeof *plan, "the plan", err)) return EXIT_FAILURE;
    plan->arguments = arguments;
    bool begun = texts_find(&plan->texts, arguments->texts, arguments->text_count,
                            arguments->val_file, err) &&
                 folder_open(&plan->folder, arguments->out, err);
    if (begun) name_files(plan);
    begun = begun && (!(arguments->resume || arguments->continues) || load_state(plan, err)) &&
            (plan->resumed || begin_anew(plan, err));
    begun = begun && quote_command(plan, err);
    const bool fits = begun && lay_options(plan, err) && list_rungs(plan, err) &&
                      check_effect(plan, err) && check_budget(plan, err);
    if (fits)
        *made = plan;
    else
        plan_close(plan);
    return fits ? EXIT_SUCCESS : begun ? EXIT_USAGE : EXIT_FAILURE;
}

void plan_close(Plan *plan) {
    if (!plan) return;
    tril_text_free(plan->corpus);
    tril_model_free(plan->init);
    tril_model_free(plan->resumed);
    texts_free(&plan->texts);
    buffer_end(&plan->command);
    folder_close(plan->folder);
    memory_free(plan);
}

/* ---- the text ---- */

/* Adds all characters of the text to the model of --init. */
static bool extend_model(Plan *plan, const char *text, size_t length, Error *err) {
    TrilModel *extended;
    if (tril_model_extend(&extended, plan->init, text, length, plan->options.seed, err) != TRIL_OK)
        return message_of(err, plan->texts.name);
    plan->added = tril_model_tokenizer(extended)->size - tril_model_tokenizer(plan->init)->size;
    tril_model_free(plan->init);
    plan->init = extended;
    return true;
}

/* Makes the ids of the text, of which the share `held_out` is held out. */
static bool make_input(Plan *plan, const char *text, size_t length, double held_out, Error *err) {
    const char *path = plan->texts.name;
    TrilOptions *o = &plan->options;
    TrilTokenizer *made = NULL;
    if (plan->resumed && !is_text_of_state(plan, text, length, held_out)) {
        const char *val_file = tril_model_metadata(plan->resumed, "val_file"),
                   *began = tril_model_metadata(plan->resumed, "text_name");
        const bool named = began && strcmp(began, path) != 0;
        return fail(err,
                    "%s: is not the text that the run in %s began with%s%s; --resume needs the "
                    "same text%s%s",
                    path, plan->arguments->out, named ? ", " : "", named ? began : "",
                    val_file ? ", with --val-file " : "", val_file ? val_file : "");
    }
    o->held_out = held_out;
    if (plan->init && length > 0 && !extend_model(plan, text, length, err)) return false;
    const TrilTokenizer *known = plan->resumed ? tril_model_tokenizer(plan->resumed)
                                 : plan->init  ? tril_model_tokenizer(plan->init)
                                               : NULL;
    TrilStatus status = TRIL_OK;
    if (!known) status = tril_tokenizer_make(&made, o->bytes ? NULL : text, length, err);
    if (status == TRIL_OK)
        status =
            tril_text_make(&plan->corpus, known ? known : made, text, length, o->held_out, err);
    tril_tokenizer_free(made);
    if (status != TRIL_OK) return status == TRIL_TEXT && message_of(err, path);
    plan->corpus->counted = (size_t)plan->counted;
    return plan->arguments->quiet || plan->resumed ||
           tril_text_repeated(plan->corpus, &plan->repeated, err) == TRIL_OK;
}

bool plan_read_text(Plan *plan, Error *err) {
    const TrilOptions usual = tril_options();
    const double least = plan_has_time(plan) ? 1 : usual.context;
    const int context = (int)(isnan(plan->options.context) ? least : plan->options.context);
    double held_out = plan->options.held_out;
    size_t length;
    const char *text = texts_content(&plan->texts, plan->options.bytes, &held_out, &length, err);
    const bool ok = text && make_input(plan, text, length, held_out, err);
    texts_forget(&plan->texts);
    if (!ok) return false;
    /* checks the length before files are moved for the training */
    const TrilText *input = plan->corpus;
    const bool enough = !plan->arguments->val_file &&
                        (double)input->characters * (1 - usual.held_out) > context + 1;
    return input->trained_on > (size_t)context ||
           fail(err,
                "%s: too short for a context of %d: it has %s to train on (at least %d "
                "are needed) and %zu held out (at least 2); use a longer text or a smaller --%s",
                plan->texts.name, context, count_of((double)input->trained_on, "character"),
                context + 1, input->characters - input->trained_on, enough ? "val" : "context");
}

/* ---- the decisions ---- */

/* Leaves out a baseline whose table would need gigabytes, because the counted bigram is equivalent.
 * A model of --init is compared with its own first loss, and a run that began without its baseline
 * continues without it. */
static void leave_out(Plan *plan) {
    enum { MAX_VOCABULARY = 8192 };
    const int size = plan->corpus->vocab.size;
    for (int i = 0; i < plan->rung_count; i++) {
        RungPlan *rung = &plan->rungs[i];
        const bool began = !plan->resumed || rung->known;
        rung->left_out =
            rung->baseline && (size > MAX_VOCABULARY || plan->arguments->init || !began);
        if (rung->baseline && size > MAX_VOCABULARY && !plan->arguments->quiet)
            show_line("%s: skipped: %d characters make its table too large", rung->name, size);
    }
}

/* Counts the text. Under a time limit, counting stops after a tenth of the time (with --ladder 7
 * %), and a line says how much was counted. */
static bool count(Plan *plan, Error *err) {
    enum { FIRST = 1 << 15, GROWTH = 32 };
    const double share = plan->ladder ? 0.07 : 0.1; /* `ngram` counts again */
    const double slower = 2;                        /* larger tables are */
    const double all = (double)plan->corpus->trained_on, begun = world_seconds();
    const bool by_time = plan_has_time(plan) && !plan->resumed;
    const double most = by_time ? share * plan_left(plan) : 0;
    TrilStatus status;
    show_activity(plan, "counting the text");
    for (double next = by_time ? FIRST : 0, took;;) {
        const double before = world_seconds();
        if (by_time) plan->counted = fmin(next, all);
        plan->corpus->counted = (size_t)plan->counted;
        status = tril_text_count(plan->corpus, (int)plan->options.context, &plan->counts, err);
        took = world_seconds() - before;
        next = plan->counted * fmin(GROWTH, (most - (before + took - begun)) / (slower * took));
        if (status != TRIL_OK || !by_time || !plan_counts_part(plan) || next < 2 * plan->counted)
            break;
    }
    show_activity(plan, NULL);
    if (!plan->arguments->quiet && plan_counts_part(plan))
        show_line(
            "counting reads only the first %s of the %s characters to train on: more would take "
            "too much of the time",
            grouped(plan->counted), grouped(all));
    return status == TRIL_OK;
}

/* Measures the speed of a rung, after choosing sizes and batch for `seconds` if they are unset. */
static bool measure(Plan *plan, TrilOptions *o, double seconds, TrilChoice *pace, Error *err) {
    const double least = TRIL_LEAST_STEPS * 1e-9;
    show_activity(plan, "measuring the speed of this machine");
    TrilStatus status =
        tril_options_choose(o, plan->corpus, plan->init != NULL, fmax(seconds, least), pace, err);
    show_activity(plan, NULL);
    return status == TRIL_OK;
}

/* Checks that the rung's `share` of the `left` seconds has room for TRIL_LEAST_STEPS. Leaves out a
 * baseline that is too slow. */
static bool check_speed(const Plan *plan, RungPlan *rung, double share, double left, Error *err) {
    const double step = plan_step_characters(plan) / rung->pace.speed, spare = 1.2,
                 all = TRIL_LEAST_STEPS * step, time = plan->options.time,
                 passed = time - plan_left(plan);
    if (all <= share) return true;
    if (!rung->baseline)
        return fail(err,
                    "%s: %d steps take about %s s, but --time %.10g leaves only %s s for them; "
                    "give at least --time %.0f",
                    rung->name, TRIL_LEAST_STEPS, figure(all, 1), time, figure(fmax(0, share), 1),
                    ceil(spare * (passed + all * left / share)));
    rung->left_out = true;
    if (!plan->arguments->quiet)
        show_line("%s: skipped: a step takes about %.2g s, too much of its time", rung->name, step);
    return true;
}

/* Chooses the sizes of all rungs by one of them, and estimates its steps roughly. */
static bool choose_sizes(Plan *plan, RungPlan *sized, Error *err) {
    TrilOptions *o = &plan->options;
    const double characters = (double)plan->corpus->trained_on, left = plan_left(plan),
                 seconds = left / (plan->ladder ? plan->rung_count : 1);
    if (!measure(plan, o, seconds, &sized->pace, err)) return false;
    if (sized->pace.speed * left < TRIL_LEAST_STEPS * plan_step_characters(plan))
        return check_speed(plan, sized, left, left, err); /* fails before counting takes time */
    double read = sized->pace.speed * seconds;
    if (o->epochs > 0) read = fmin(read, o->epochs * characters);
    o->steps = floor(fmin(MOST_STEPS, fmax(1, read / plan_step_characters(plan))));
    share_options(plan);
    return true;
}

/* Gives each rung its share of the time, chooses the part of the held-out text for which there is
 * time in all of them, and estimates the steps of the rung for which the sizes were chosen. */
static bool share_time(Plan *plan, const RungPlan *sized, Error *err) {
    double left = plan_left(plan), of_sized = 0;
    plan->part = 1;
    for (RungPlan *rung = plan->rungs; rung < plan->rungs + plan->rung_count; rung++) {
        double share = budget_share(plan, rung, left);
        const bool checks = !rung->left_out && !rung->known; /* else an earlier run paid for it */
        if (checks && !check_speed(plan, rung, share, left, err)) return false;
        if (rung->left_out) continue;
        if (rung == sized) of_sized = share;
        plan->part = fmin(plan->part, budget_part(plan, rung, share));
        if (rung->baseline) share = fmin(share, BASELINE_STEPS * budget_step(plan, rung));
        left -= share;
    }
    const Result none = {.now.windows_grow = plan_windows_grow(plan, sized)};
    plan->options.steps = budget_open(plan, sized, of_sized, 0, &none).steps;
    return true;
}

/* Plans a training run with a time limit. One that is resumed takes as many steps in the same time.
 */
static bool plan_by_time(Plan *plan, RungPlan *sized, Error *err) {
    const double largest = 0.25; /* about the share of a ladder's slowest rung */
    TrilOptions *o = &plan->options;
    const double planned = plan->resumed ? plan->state.options.time : NAN;
    if (!plan->resumed && !(choose_sizes(plan, sized, err) && count(plan, err))) return false;
    for (RungPlan *rung = plan->rungs; rung < plan->rungs + plan->rung_count; rung++) {
        const double seconds = plan_left(plan) * (plan->ladder ? largest : 1);
        const bool measured = rung->left_out || rung->pace.speed > 0;
        if (!measured && !measure(plan, &rung->options, seconds, &rung->pace, err)) return false;
    }
    if (isnan(planned) || plan->part <= 0) return share_time(plan, sized, err);
    o->steps = ceil(o->steps * (o->time / planned));
    return true;
}

bool plan_decide(Plan *plan, Error *err) {
    TrilOptions *o = &plan->options;
    const bool trained = plan->init != NULL;
    const double dropout = o->dropout;
    const char *const model = o->rung;
    /* the rung that decides sizes, batch and steps: in a ladder one whose sizes suit all */
    RungPlan *sized = &plan->rungs[plan->rung_count - 1];
    while (plan->ladder && sized > plan->rungs && tril_rung_has_long_windows(sized->name)) sized--;
    leave_out(plan);
    o->precision = tril_precision(o->precision);
    o->threads = tril_threads(o->threads);
    o->rung = sized->name;
    if (!plan_has_time(plan)) plan->part = 1;
    if (plan_has_time(plan) && !plan_by_time(plan, sized, err)) return false;
    if (!plan->resumed && tril_options_decide(o, plan->corpus, trained, NULL, err) != TRIL_OK)
        return false;
    o->rung = model;
    if (plan->ladder) o->dropout = dropout;
    share_options(plan);
    /* each rung decides the rest; one that is resumed has done so. Each must fit into memory: that
     * is known before hours of training */
    for (RungPlan *rung = plan->rungs; rung < plan->rungs + plan->rung_count; rung++) {
        TrilStatus status = TRIL_OK;
        size_t parameters;
        double bytes;
        if (rung->left_out) continue;
        /* the plan of a ladder has no dropout; that of a rung in training stays */
        if (rung->resumed && isnan(rung->options.dropout))
            rung->options.dropout = plan->state.options.dropout;
        if (!rung->resumed)
            status = tril_options_decide(&rung->options, plan->corpus, trained, NULL, err);
        if (status == TRIL_OK)
            status =
                tril_estimate(&rung->options, plan->corpus->distinct, &parameters, &bytes, err);
        if (status != TRIL_OK) return false;
    }
    if (plan->counts.order == 0 && !count(plan, err)) return false;
    if (!plan->arguments->quiet && !plan->resumed) show_decisions(plan, sized);
    return true;
}
