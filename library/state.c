/* state.c - writes and reads the files of a training run: models, which ./sample reads, and states,
 * from which a training run is resumed. Each is one checkpoint, complete at any time. */
#include "base/array.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "library/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The version of the metadata of states. Another version cannot be resumed. */
static const char version[] = "3";

/* The numbers of a TrilProgress. */
static const Number numbers[] = {
    {"step", offsetof(TrilProgress, step), true, false, 0},
    {"recent_loss", offsetof(TrilProgress, recent), false, true, 0},
    {"recent_steps", offsetof(TrilProgress, recent_steps), true, false, 0},
    {"learning_seconds", offsetof(TrilProgress, seconds), false, false, 0},
    {"operations", offsetof(TrilProgress, operations), false, false, 0},
    {"lowest_loss", offsetof(TrilProgress, lowest), false, true, 0},
    {"lowest_step", offsetof(TrilProgress, lowest_step), true, false, 0},
    {"stale", offsetof(TrilProgress, since_lowest), true, false, 0},
    {"cooling", offsetof(TrilProgress, cooling), false, false, 0},
    {"cooled", offsetof(TrilProgress, cooled), true, false, 0},
    {"windows_grow", offsetof(TrilProgress, windows_grow), true, false, 0},
    {"embedding_decay", offsetof(TrilProgress, embedding_decay), false, true, 0},
};
enum { NUMBERS = COUNT(numbers), KEY_SIZE = 40 };

static const char *const keys[] = {"characters", "vocabulary", "seed",    "text",
                                   "val",        "state",      "kernels", "validation_loss"};

static void option_key(int i, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "option.%s", tril_option(i)->name);
}

/* Returns true if states store the option. The model has the others, or none is needed. */
static bool is_stored(const TrilOption *row) {
    return (row->lasting == TRIL_FIXED || row->lasting == TRIL_KEPT) &&
           row->member != offsetof(TrilOptions, bytes);
}

/* ---- writing ---- */

/* Adds the metadata of models and states. */
static bool put_origin(Notes *notes, const TrilModel *model, Error *err) {
    const Vocab *vocab = &model->vocab;
    char *joined = NULL, val[NUMBER_SIZE];
    size_t length = 0;
    number_shortest(val, sizeof val, model->held_out);
    bool ok = (vocab->bytes || vocab_join(vocab, &joined, &length, err)) &&
              notes_print(notes, "characters", err, "%s", vocab->bytes ? "bytes" : "utf-8") &&
              notes_put(notes, "vocabulary", joined ? joined : "", length, err) &&
              notes_print(notes, "seed", err, "%" PRIu64, model->seed) &&
              notes_print(notes, "text", err, "%s", digest_text(model->text).text) &&
              (isnan(model->held_out) || notes_print(notes, "val", err, "%s", val));
    memory_free(joined);
    return ok;
}

/* Adds those of a model alone. */
static bool put_result(Notes *notes, const TrilModel *model, Error *err) {
    char loss[NUMBER_SIZE];
    number_write(loss, sizeof loss, 'f', 6, model->validation);
    return notes_print(notes, "step", err, "%d", model->step) &&
           (isnan(model->validation) || notes_print(notes, "validation_loss", err, "%s", loss));
}

/* Adds those of a state alone. */
static bool put_state(Notes *notes, const TrilTraining *t, Error *err) {
    char key[KEY_SIZE], text[TRIL_OPTION_SIZE];
    bool ok = notes_print(notes, "state", err, "%s", version) &&
              numbers_put(notes, numbers, NUMBERS, &t->progress, err);
    for (int i = 0; tril_option(i) && ok; i++) {
        option_key(i, key);
        if (is_stored(tril_option(i)) && tril_options_get(&t->options, i, text))
            ok = notes_print(notes, key, err, "%s", text);
    }
    return ok && notes_print(notes, "kernels", err, "%s", run_kernels(t->batches.run));
}

/* Writes a model, or the state of its training `t`, with the metadata of a program. */
static bool save(const TrilModel *model, const TrilTraining *t, const char *path, Error *err) {
    const Notes *own = t ? &t->notes : &model->notes;
    Notes notes = {.count = 0};
    bool ok = put_origin(&notes, model, err) &&
              (t ? put_state(&notes, t, err) : put_result(&notes, model, err));
    for (const Note *note = own->list; ok && note < own->list + own->count; note++)
        ok = notes_put(&notes, note->key, note->value, note->length, err);
    ok = ok && checkpoint_save(path, &model->model, t ? t->batches.run : NULL, notes.list,
                               notes.count, err);
    notes_free(&notes);
    return or_as(ok, TRIL_FILE, err);
}

TrilStatus tril_model_save(const TrilModel *model, const char *path, Error *err) {
    if (!model || !path || !err) return null_argument(err);
    return result(model_read(model, err) && model_leave(model, save(model, NULL, path, err)), err);
}

TrilStatus tril_training_save(TrilTraining *t, const char *path, Error *err) {
    if (!t || !path || !err) return null_argument(err);
    if (!model_change(t->model, err)) return err->status;
    run_collect(t->batches.run);
    return result(model_leave(t->model, save(t->model, t, path, err)), err);
}

/* ---- metadata of a program ---- */

static bool has_key(const char *key) {
    bool has = strncmp(key, "option.", strlen("option.")) == 0 || checkpoint_has_key(key);
    for (int i = 0; i < NUMBERS; i++) has = has || strcmp(key, numbers[i].key) == 0;
    for (int i = 0; i < COUNT(keys); i++) has = has || strcmp(key, keys[i]) == 0;
    return has;
}

static bool add_note(Notes *notes, const char *key, const char *text, Error *err) {
    enum { MOST = 32 };
    int i = 0;
    while (i < notes->count && strcmp(notes->list[i].key, key) != 0) i++;
    if (!utf8_valid(key) || !utf8_valid(text)) return fail(err, "the metadata is not UTF-8");
    if (has_key(key))
        return fail(err, "'%.64s' is a reserved key of the metadata; choose another", key);
    if (i == MOST) return fail(err, "more than %d entries of metadata", (int)MOST);
    return notes_put(notes, key, text, strlen(text), err);
}

TrilStatus tril_training_mark(TrilTraining *training, const char *key, const char *text,
                              Error *err) {
    if (!training || !key || !text || !err) return null_argument(err);
    return result(model_change(training->model, err) &&
                      model_leave(training->model, add_note(&training->notes, key, text, err)),
                  err);
}

TrilStatus tril_model_mark(TrilModel *model, const char *key, const char *text, Error *err) {
    if (!model || !key || !text || !err) return null_argument(err);
    return result(model_change(model, err) &&
                      model_leave(model, add_note(&model->notes, key, text, err)),
                  err);
}

/* ---- reading ---- */

/* Reads the vocabulary from the metadata of a model's file, and checks its size. */
static bool read_vocab(TrilModel *model, const char *path, Error *err) {
    const Note *kind = safetensors_note(&model->file, "characters");
    const Note *text = safetensors_note(&model->file, "vocabulary");
    Vocab *vocab = &model->vocab;
    if (!kind || !text) return fail(err, "%s: its metadata has no vocabulary", path);
    if (!(strcmp(kind->value, "bytes") == 0 ? vocab_build(vocab, NULL, 0, true, err)
                                            : vocab_split(vocab, text->value, text->length, err)))
        return err->status != TRIL_NO_MEMORY &&
               fail(err, "%s: its metadata has no valid 'vocabulary'", path);
    return vocab->size == model->model.config.V ||
           fail(err, "%s: its vocabulary and its model have different sizes", path);
}

/* Reads the model of a file. The checkpoint keeps only the moments of a state. The caller releases
 * both, even after a failure. */
static bool read_file(TrilModel **made, Checkpoint *c, const char *path, Error *err) {
    *c = (Checkpoint){.first_moments = NULL};
    if (!model_new(made, err) || !checkpoint_load(c, path, err)) return false;
    TrilModel *model = *made;
    model->model = c->model;
    model->file = c->file;
    c->model = (Model){0};
    c->file = (SafeTensors){0};
    const char *step = tril_model_note(model, "step"), *seed = tril_model_note(model, "seed"),
               *loss = tril_model_note(model, "validation_loss"),
               *val = tril_model_note(model, "val");
    model->trained = true;
    digest_read(tril_model_note(model, "text"), 0, &model->text);
    if (step) model->step = (int)strtol(step, NULL, 10);
    if (seed) model->seed = strtoull(seed, NULL, 10);
    if (loss) model->validation = number_read(loss, NULL);
    if (val) model->held_out = number_read(val, NULL);
    return read_vocab(model, path, err);
}

TrilStatus tril_model_load(TrilModel **model, const char *path, Error *err) {
    Checkpoint c;
    if (model) *model = NULL;
    if (!model || !path || !err) return null_argument(err);
    const bool ok = or_as(read_file(model, &c, path, err), TRIL_FILE, err);
    checkpoint_free(&c);
    return result(model_given(model, ok), err);
}

/* A state, of which tril.h declares the first member. */
typedef struct {
    TrilState known;
    TrilModel *model; /* with all metadata, a program's included; NULL once it is resumed */
    Checkpoint rest;  /* the moments */
    Uses uses;
} Stored;

/* Reads the options. Returns the name of the first invalid one, or NULL. Every option that a
 * training run decides must be there; one that is newer than the state has its default. */
static const char *read_options(const TrilModel *model, TrilOptions *options) {
    *options = tril_model_sizes(model);
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        char key[KEY_SIZE];
        if (!is_stored(row)) continue;
        option_key(i, key);
        const Note *note = safetensors_note(&model->file, key);
        const char *value = note ? note->value : row->standard;
        if ((note && (note->length == 0 || strlen(note->value) != note->length)) ||
            (value && tril_options_set(options, row->name, value, &(Error){0}) != TRIL_OK))
            return row->name;
    }
    options->bytes = model->vocab.bytes;
    return isnan(options->steps)        ? "steps"
           : isnan(options->eval_every) ? "eval-every"
           : isnan(options->dropout)    ? "dropout"
                                        : NULL;
}

/* Reads the progress and the options. Returns the key of the first invalid entry, or NULL. */
static const char *read_metadata(Stored *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const SafeTensors *file = &s->model->file;
    TrilProgress *progress = &s->known.progress;
    *progress = (TrilProgress){.loss = NAN};
    const char *bad = numbers_read(file, numbers, NUMBERS, progress);
    if (!bad && progress->cooling > 0 && !(progress->cooled >= progress->cooling)) bad = "cooled";
    if (!bad) bad = read_options(s->model, &s->known.options);
    if (bad) return bad;
    if (!digest_read(safetensors_value(file, "text"), 0, &s->known.text)) return "text";
    const Note *kernels = safetensors_note(file, "kernels");
    if (!kernels || kernels->length > 15 || strspn(kernels->value, letters) != kernels->length)
        return "kernels";
    progress->steps = (int)s->known.options.steps;
    if (progress->cooling > 0 && progress->cooled < progress->steps)
        progress->steps = progress->cooled;
    s->known.tokenizer = &s->model->vocab;
    return NULL;
}

TrilStatus tril_state_load(TrilState **state, const char *path, Error *err) {
    Stored *s;
    const char *bad = NULL;
    if (state) *state = NULL;
    if (!state || !path || !err) return null_argument(err);
    if (!memory_alloc(&s, 1, sizeof *s, "the state", err)) return TRIL_NO_MEMORY;
    bool ok = read_file(&s->model, &s->rest, path, err);
    if (ok && !s->rest.first_moments)
        ok = fail(err, "%s: is a model, not the state of a training run", path);
    const char *of = ok ? tril_model_note(s->model, "state") : NULL;
    if (ok && (!of || strcmp(of, version) != 0))
        ok = fail(err,
                  "%s: was written by another version of tril and cannot be resumed; begin a new "
                  "run from its model with --init",
                  path);
    if (ok && (bad = read_metadata(s)))
        ok = fail(err, "%s: its metadata has no valid '%s'", path, bad);
    if (ok)
        *state = &s->known;
    else
        tril_state_free(&s->known);
    return result(or_as(ok, TRIL_FILE, err), err);
}

void tril_state_free(TrilState *state) {
    Stored *s = (Stored *)state;
    if (!s) return;
    tril_model_free(s->model);
    checkpoint_free(&s->rest);
    memory_free(s);
}

const char *tril_state_note(const TrilState *state, const char *key) {
    const TrilModel *model = ((const Stored *)state)->model;
    return model ? tril_model_note(model, key) : NULL;
}

/* ---- resuming ---- */

/* Checks that this can be the same training run. */
static bool check_same(const Stored *s, const TrilText *text, const TrilOptions *options,
                       Error *err) {
    const double held_out = s->known.options.held_out;
    if (!s->model) return fail(err, "this state has already been resumed; load it again");
    if (!options_in_range(options, err) ||
        !text_suits(text, &s->model->vocab, s->model->model.config.T, err))
        return false;
    if (text->digest != s->known.text)
        return fail_as(TRIL_TEXT, err, "the text is not the one that the state was trained on");
    return text->held_out == held_out ||
           fail_as(TRIL_TEXT, err,
                   "the state was trained with val = %g, but the text holds out %g; make the text "
                   "with the same share",
                   held_out, text->held_out);
}

static bool resume(TrilTraining **training, TrilModel **model, Stored *s, const TrilText *text,
                   const TrilOptions *options, Error *err) {
    const TrilOptions *own = &s->known.options;
    TrilOptions now = options ? *options : *own;
    if (!check_same(s, text, &now, err)) return false;
    options_take_sizes(&now, own);
    options_complete(&now, own);
    *model = s->model;
    s->model = NULL;
    s->known.tokenizer = NULL;
    const bool ok = training_make(training, *model, text, &now, err);
    if (ok)
        training_restore(*training, &s->known.progress, s->rest.first_moments,
                         s->rest.second_moments);
    return model_given(model, ok);
}

TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model, TrilState *state,
                                const TrilText *text, const TrilOptions *options, Error *err) {
    Stored *s = (Stored *)state;
    if (training) *training = NULL;
    if (model) *model = NULL;
    if (!training || !model || !state || !text || !err) return null_argument(err);
    if (!use_begin(&s->uses, true, "state", err)) return err->status;
    const bool ok = resume(training, model, s, text, options, err);
    use_end(&s->uses);
    return result(ok, err);
}
