#include "programs/train/start.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/message.h"
#include "programs/train/display.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the state of a training that goes on ---- */

/* The state makes --init unnecessary, but a wrong path is still an error. */
static bool check_init(const Arguments *asked, Error *err) {
    return !asked->init || file_can_be_read(asked->init, err);
}

/* With --continue a state of another text or rung is left alone, and a new training begins. */
static bool is_wanted(const Arguments *asked, const Saved *saved, bool *wanted, Error *err) {
    char *text;
    size_t length;
    *wanted = true;
    if (!asked->continues) return true;
    *wanted = !asked->options.rung || strcmp(asked->options.rung, saved->options.rung) == 0;
    if (!*wanted) return true;
    if (!file_read(asked->input, &text, &length, err)) return false;
    *wanted = tril_digest(text, length) == tril_state_text(saved->state);
    memory_free(text);
    return true;
}

/* Loads the state, if there is one to resume. */
static bool load_state(Start *start, const Arguments *asked, const char *path, Error *err) {
    if (!file_exists(path)) {
        if (!asked->quiet && !asked->continues)
            show_line("%s: no such file: a new training begins", path);
        return true;
    }
    if (!file_begins(path, ""))
        return fail(err, "%s: is no regular file, and not the state of a training", path);
    if (asked->continues && !file_begins(asked->input, ""))
        return fail(err, "%s: --continue reads the text twice, which must be a regular file",
                    asked->input);
    if (!check_init(asked, err) || !saved_load(&start->saved, path, err)) return false;
    bool ok = is_wanted(asked, &start->saved, &start->resumed, err);
    if (!ok || !start->resumed) saved_free(&start->saved);
    return ok;
}

static bool load_resume(Start *start, TrilOptions *options, const Arguments *asked, Error *err) {
    char path[PATH_SIZE];
    Error why;
    if (!files_state(asked->out, path, err) || !load_state(start, asked, path, err)) return false;
    const Saved *saved = &start->saved;
    if (!start->resumed ||
        command_line_resume(asked, &saved->options, saved->ladder, options, &why))
        return true;
    saved_free(&start->saved);
    return fail(err, "%s: %.400s", path, why.text);
}

/* ---- a trained model ---- */

/* Sets the sizes and characters to those of the model. Fails if others were asked for. */
static bool settle(TrilOptions *options, const Arguments *asked, const TrilModel *init,
                   Error *err) {
    const TrilOptions own = tril_model_sizes(init), has = tril_options_sizes(&own);
    bool bytes = tril_tokenizer_has_bytes(tril_model_tokenizer(init));
    if (asked->options.bytes && !bytes)
        return fail(err, "%s: reads UTF-8 characters, and not --bytes", asked->init);
    for (int i = 0; tril_option(i); i++) {
        char is[TRIL_OPTION_SIZE], wanted[TRIL_OPTION_SIZE];
        const TrilOption *row = tril_option(i);
        if (row->lasting != TRIL_MODEL) continue;
        tril_options_get(&has, i, is);
        if (tril_options_get(&asked->options, i, wanted) && strcmp(is, wanted) != 0)
            return fail(err, "%s: its --%s is %s, not %s", asked->init, row->name, is, wanted);
        tril_options_get(&own, i, is);
        tril_options_set(options, row->name, is, NULL);
    }
    options->bytes = bytes;
    return true;
}

static bool load_model(TrilModel **model, const char *path, Error *err) {
    TrilError error;
    return tril_model_load(model, path, &error) == TRIL_OK || message_take(err, &error, NULL);
}

/* With a time limit and without a preset, sizes and batch are chosen. */
static bool load_start(Start *start, TrilOptions *options, const Arguments *asked, Error *err) {
    if ((asked->resume || asked->continues) && !load_resume(start, options, asked, err))
        return false;
    if (start->resumed) return true;
    *options = tril_options();
    if (!isnan(asked->options.time) && !asked->preset)
        options->layers = options->heads = options->width = options->context = options->batch = NAN;
    if (asked->init && !load_model(&start->init, asked->init, err)) return false;
    return command_line_over(asked, options, err) &&
           (!start->init || settle(options, asked, start->init, err));
}

/* A training that goes on needs the teacher it began with. */
static bool load_teacher(Start *start, const char *path, Error *err) {
    if (path && !load_model(&start->teacher, path, err)) return false;
    if (!start->resumed) return true;
    uint64_t before = start->saved.teacher;
    uint64_t now = start->teacher ? tril_model_digest(start->teacher) : 0;
    if (now == before) return true;
    if (!now)
        return fail(err,
                    "this training has a --teacher, which must be named again: the model with "
                    "the digest %016" PRIx64,
                    before);
    return fail(err, "%s: is not the teacher of the training that is to go on", path);
}

bool start_load(Start *start, TrilOptions *options, const Arguments *asked, Error *err) {
    *start = (Start){.resumed = false};
    if (load_start(start, options, asked, err) && load_teacher(start, asked->teacher, err))
        return true;
    start_free(start);
    return false;
}

void start_free(Start *start) {
    tril_model_free(start->teacher);
    tril_model_free(start->init);
    saved_free(&start->saved);
}

/* ---- the text ---- */

/* The model of --init now has all characters of the text, too. */
static bool extend_model(Start *start, const Arguments *asked, const TrilOptions *options,
                         const char *text, size_t length, Error *err) {
    TrilError error;
    TrilModel *extended;
    if (tril_model_extend(&extended, start->init, text, length, options->seed, &error) != TRIL_OK)
        return message_take(err, &error, asked->input);
    start->added = tril_tokenizer_size(tril_model_tokenizer(extended)) -
                   tril_tokenizer_size(tril_model_tokenizer(start->init));
    tril_model_free(start->init);
    start->init = extended;
    return true;
}

/* Of the state: it must be the same text, character by character. */
static bool check_digest(const Start *start, const Arguments *asked, const char *text,
                         size_t length, Error *err) {
    return tril_digest(text, length) == tril_state_text(start->saved.state) ||
           fail(err, "%s: is not the text of the training that --resume is to go on with",
                asked->input);
}

/* A teacher's predictions are of the same characters, in the same order. */
static bool check_teacher(const Start *start, const Arguments *asked, const Input *input,
                          Error *err) {
    return !start->teacher ||
           tril_tokenizer_same(tril_model_tokenizer(start->teacher), input->tokenizer) ||
           fail(err, "%s: knows other characters than the text has, and cannot teach them",
                asked->teacher);
}

static bool make_input(Start *start, const Arguments *asked, const TrilOptions *options,
                       const char *text, size_t length, Input *input, Error *err) {
    int context = isnan(options->context) ? 1 : (int)options->context;
    const TrilTokenizer *known = NULL;
    if (start->resumed && !check_digest(start, asked, text, length, err)) return false;
    if (start->init && length > 0 && !extend_model(start, asked, options, text, length, err))
        return false;
    if (start->resumed) known = tril_state_tokenizer(start->saved.state);
    if (start->init) known = tril_model_tokenizer(start->init);
    if (!input_make(input, asked->input, text, length, options->bytes, options->held_out, context,
                    known, err))
        return false;
    bool ok = check_teacher(start, asked, input, err);
    if (!ok) input_free(input);
    return ok;
}

bool start_read_text(Start *start, const Arguments *asked, const TrilOptions *options, Input *input,
                     Error *err) {
    char *text;
    size_t length;
    if (!file_read(asked->input, &text, &length, err)) return false;
    bool ok = make_input(start, asked, options, text, length, input, err);
    memory_free(text);
    return ok;
}

/* ---- its name for its files ---- */

uint64_t start_training(const Start *start, const Plan *plan, const Input *input) {
    if (start->resumed && start->saved.training) return start->saved.training;
    const char *out = plan->arguments->out, *slash = strrchr(out, '/'),
               *name = slash ? slash + 1 : out;
    const uint64_t models[] = {input->digest, start->init ? tril_model_digest(start->init) : 0,
                               plan->teacher};
    Digest digest = digest_start();
    for (int i = 0; tril_option(i); i++) {
        char text[TRIL_OPTION_SIZE];
        tril_options_get(&plan->options, i, text);
        if (tril_option(i)->lasting != TRIL_FRESH) digest_add(&digest, text, strlen(text) + 1);
    }
    digest_add(&digest, &plan->ladder, sizeof plan->ladder);
    digest_add(&digest, name, strlen(name) + 1);
    digest_add(&digest, models, sizeof models);
    uint64_t value = digest_value(&digest);
    return value ? value : 1;
}
