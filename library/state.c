/* state.c - what is saved of a training: models, which ./sample reads, and states, from which a
 * training is resumed. Each is one checkpoint, complete at any time. */
#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "library/training.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the metadata that only a state has. A state of another version is not resumed. */
static const char version[] = "1";

/* The members of a TrilProgress, under their keys. */
static const struct {
    const char *key;
    size_t member;
    bool whole, may_lack; /* an int, not a double; NaN is left out */
} numbers[] = {
    {"step", offsetof(TrilProgress, step), true, false},
    {"recent_loss", offsetof(TrilProgress, recent), false, true},
    {"recent_steps", offsetof(TrilProgress, recent_steps), true, false},
    {"learning_seconds", offsetof(TrilProgress, seconds), false, false},
    {"operations", offsetof(TrilProgress, operations), false, false},
    {"lowest_loss", offsetof(TrilProgress, lowest), false, true},
    {"lowest_step", offsetof(TrilProgress, lowest_step), true, false},
    {"stale", offsetof(TrilProgress, since_lowest), true, false},
    {"cooling", offsetof(TrilProgress, cooling), false, false},
    {"cooled", offsetof(TrilProgress, cooled), true, false},
};
enum { NUMBERS = COUNT(numbers), MAX_OPTIONS = 32, KEY_SIZE = 40 };

/* The other keys. */
static const char *const keys[] = {"characters", "vocabulary", "seed",    "text",
                                   "teacher",    "state",      "kernels", "validation_loss"};

static void option_key(int i, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "option.%s", tril_option(i)->name);
}

/* True if a state has the option in its metadata. The model has the others, or they are of no use.
 */
static bool is_stored(const TrilOption *row) {
    return (row->lasting == TRIL_FIXED || row->lasting == TRIL_KEPT) && row->kind != TRIL_FLAG;
}

/* ---- metadata ---- */

/* The metadata of a file, and the memory that it points to. */
typedef struct {
    Note notes[COUNT(keys) + NUMBERS + MAX_OPTIONS + MAX_NOTES];
    int count;
    char *vocabulary; /* owned */
    char texts[COUNT(keys) + NUMBERS + MAX_OPTIONS][NUMBER_SIZE];
    char option_keys[MAX_OPTIONS][KEY_SIZE];
} Metadata;

static void add(Metadata *m, const char *key, const char *value) {
    m->notes[m->count++] = (Note){key, value, strlen(value)};
}

static void add_number(Metadata *m, const char *key, double x) {
    char *text = m->texts[m->count];
    number_shortest(text, NUMBER_SIZE, x);
    add(m, key, text);
}

static void add_digest(Metadata *m, const char *key, uint64_t digest) {
    char *text = m->texts[m->count];
    snprintf(text, NUMBER_SIZE, "%016" PRIx64, digest);
    if (digest) add(m, key, text);
}

/* Adds what models and states have. */
static bool begin(Metadata *m, const Vocab *vocab, uint64_t seed, uint64_t text, Error *err) {
    size_t length = 0;
    *m = (Metadata){.count = 0};
    if (!vocab->bytes && !vocab_join(vocab, &m->vocabulary, &length, err)) return false;
    add(m, "characters", vocab->bytes ? "bytes" : "utf-8");
    m->notes[m->count++] = (Note){"vocabulary", m->vocabulary ? m->vocabulary : "", length};
    char *number = m->texts[m->count];
    snprintf(number, NUMBER_SIZE, "%" PRIu64, seed);
    add(m, "seed", number);
    number = m->texts[m->count];
    snprintf(number, NUMBER_SIZE, "%016" PRIx64, text);
    add(m, "text", number);
    return true;
}

TrilStatus tril_model_save(const TrilModel *model, const char *path, TrilError *error) {
    Error err = {0};
    Metadata m;
    if (!given(model, "the model", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!begin(&m, vocab_of(model), model->seed, model->text, &err))
        return refusal(TRIL_FILE, &err, error);
    add_number(&m, "step", model->step);
    add_digest(&m, "training", model->training);
    char *loss = m.texts[m.count];
    number_write(loss, NUMBER_SIZE, 'f', 6, model->validation);
    if (!isnan(model->validation)) add(&m, "validation_loss", loss);
    bool ok = checkpoint_save(path, &model->model, m.notes, m.count, &err);
    memory_free(m.vocabulary);
    return ok ? TRIL_OK : refusal(TRIL_FILE, &err, error);
}

static void add_progress(Metadata *m, const TrilProgress *progress) {
    for (int i = 0; i < NUMBERS; i++) {
        const char *member = (const char *)progress + numbers[i].member;
        double x = numbers[i].whole ? *(const int *)(const void *)member
                                    : *(const double *)(const void *)member;
        if (!isnan(x)) add_number(m, numbers[i].key, x);
    }
}

static void add_options(Metadata *m, const TrilOptions *options) {
    for (int i = 0; tril_option(i) && i < MAX_OPTIONS; i++) {
        char *text = m->texts[m->count];
        option_key(i, m->option_keys[i]);
        if (is_stored(tril_option(i)) && tril_options_get(options, i, text))
            add(m, m->option_keys[i], text);
    }
}

TrilStatus tril_training_save(TrilTraining *t, const char *path, TrilError *error) {
    Error err = {0};
    Metadata m;
    if (!given(t, "the training", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    workers_collect(&t->workers);
    if (!begin(&m, vocab_of(t->model), t->options.seed, t->text->corpus.digest, &err))
        return refusal(TRIL_FILE, &err, error);
    add(&m, "state", version);
    add_progress(&m, &t->progress);
    add_options(&m, &t->options);
    add_digest(&m, "teacher", t->teacher);
    add(&m, "kernels", run_kernels(t->workers.run));
    for (int i = 0; i < t->note_count; i++) m.notes[m.count++] = t->notes[i];
    bool ok = checkpoint_save_run(path, t->workers.run, m.notes, m.count, &err);
    memory_free(m.vocabulary);
    return ok ? TRIL_OK : refusal(TRIL_FILE, &err, error);
}

/* ---- metadata of a program ---- */

static bool has_key(const char *key) {
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(key, numbers[i].key) == 0) return true;
    for (int i = 0; i < COUNT(keys); i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return strncmp(key, "option.", strlen("option.")) == 0 || checkpoint_has_key(key);
}

static bool copy_text(char **copy, const char *text, Error *err) {
    size_t size = strlen(text) + 1;
    if (!memory_alloc(copy, size, 1, "a note", err)) return false;
    memcpy(*copy, text, size);
    return true;
}

static bool is_utf8(const char *text) {
    uint32_t code;
    for (size_t left = strlen(text); left > 0;) {
        int bytes = utf8_decode(text, left, &code);
        if (bytes <= 0) return false;
        text += bytes;
        left -= (size_t)bytes;
    }
    return true;
}

/* The note of this key: the one that is there, or a new one. */
static bool find_place(TrilTraining *t, const char *key, Note **note, Error *err) {
    char *copy;
    for (int i = 0; i < t->note_count; i++) {
        *note = &t->notes[i];
        if (strcmp((*note)->key, key) == 0) return true;
    }
    if (t->note_count == MAX_NOTES)
        return fail(err, "a training has at most %d notes", (int)MAX_NOTES);
    if (!copy_text(&copy, key, err)) return false;
    *note = &t->notes[t->note_count++];
    (*note)->key = copy;
    return true;
}

static bool take_note(TrilTraining *t, const char *key, const char *text, Error *err) {
    char *copy;
    Note *note;
    if (!is_utf8(key) || !is_utf8(text)) return fail(err, "a note is not UTF-8");
    if (has_key(key)) return fail(err, "'%.64s' is a key of the state itself", key);
    if (!copy_text(&copy, text, err)) return false;
    if (!find_place(t, key, &note, err)) {
        memory_free(copy);
        return false;
    }
    memory_free((char *)note->value);
    note->value = copy;
    note->length = strlen(copy);
    return true;
}

TrilStatus tril_training_note(TrilTraining *training, const char *key, const char *text,
                              TrilError *error) {
    Error err = {0};
    return given(training, "the training", &err) && given(key, "the key", &err) &&
                   given(text, "the note", &err) && take_note(training, key, text, &err)
               ? TRIL_OK
               : refusal(TRIL_ARGUMENT, &err, error);
}

/* ---- reading ---- */

struct TrilState {
    Checkpoint checkpoint; /* with all metadata, that of a program included */
    TrilTokenizer tokenizer;
    TrilProgress progress;
    TrilOptions options;
    uint64_t text, teacher;
    char kernels[16]; /* empty: not known */
};

static bool read_digest(const Note *note, uint64_t *digest) {
    if (!note || note->length != 16 || strspn(note->value, "0123456789abcdef") != 16) return false;
    *digest = strtoull(note->value, NULL, 16);
    return true;
}

/* A number in decimal digits, not negative. */
static bool read_number(const Note *note, bool whole, double *x) {
    const double most = 1e9; /* steps */
    char *end;
    if (!note || note->length == 0 || strlen(note->value) != note->length) return false;
    *x = number_read(note->value, &end);
    return !*end && *x >= 0 && isfinite(*x) && (!whole || (*x <= most && *x == floor(*x)));
}

/* Returns the key of the first invalid entry, NULL if all are valid. */
static const char *read_progress(const Checkpoint *c, TrilProgress *p) {
    for (int i = 0; i < NUMBERS; i++) {
        const Note *note = checkpoint_note(c, numbers[i].key);
        char *member = (char *)p + numbers[i].member;
        double x = NAN;
        if ((note || !numbers[i].may_lack) && !read_number(note, numbers[i].whole, &x))
            return numbers[i].key;
        if (numbers[i].whole)
            *(int *)(void *)member = (int)x;
        else
            *(double *)(void *)member = x;
    }
    return p->cooling > 0 && !(p->cooled > p->cooling) ? "cooled" : NULL;
}

/* Likewise. All that a training decides must be there. */
static const char *read_options(const Checkpoint *c, TrilOptions *options) {
    *options = options_of(&c->model.config);
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        char key[KEY_SIZE];
        if (!is_stored(row)) continue;
        option_key(i, key);
        const Note *note = checkpoint_note(c, key);
        if (note ? note->length == 0 || strlen(note->value) != note->length ||
                       tril_options_set(options, row->name, note->value, NULL) != TRIL_OK
                 : row->standard != NULL)
            return row->name;
    }
    return isnan(options->steps) ? "steps" : isnan(options->dropout) ? "dropout" : NULL;
}

static const char *read_metadata(TrilState *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const Checkpoint *c = &s->checkpoint;
    const char *bad = read_progress(c, &s->progress);
    if (!bad) bad = read_options(c, &s->options);
    if (bad) return bad;
    if (!read_digest(checkpoint_note(c, "text"), &s->text)) return "text";
    const Note *teacher = checkpoint_note(c, "teacher"), *kernels = checkpoint_note(c, "kernels");
    if (teacher && !read_digest(teacher, &s->teacher)) return "teacher";
    if (!kernels || kernels->length >= sizeof s->kernels ||
        strspn(kernels->value, letters) != kernels->length)
        return "kernels";
    memcpy(s->kernels, kernels->value, kernels->length + 1);
    s->progress.steps = (int)s->options.steps;
    if (s->progress.cooling > 0 && s->progress.cooled < s->progress.steps)
        s->progress.steps = s->progress.cooled;
    s->options.bytes = s->tokenizer.vocab.bytes;
    return NULL;
}

static bool load_state(TrilState *s, const char *path, Error *err) {
    if (!checkpoint_load(&s->checkpoint, path, err)) return false;
    if (!s->checkpoint.first_moments)
        return fail(err, "%s: is a model, not the state of a training", path);
    const Note *of = checkpoint_note(&s->checkpoint, "state");
    if (!of || strcmp(of->value, version) != 0)
        return fail(err,
                    "%s: was written by another version of tril, and cannot be resumed; begin a "
                    "training from its model with --init",
                    path);
    if (!trained_vocab(&s->checkpoint, path, &s->tokenizer.vocab, err)) return false;
    const char *bad = read_metadata(s);
    return !bad || fail(err, "%s: its metadata has no valid '%s'", path, bad);
}

TrilStatus tril_state_load(TrilState **state, const char *path, TrilError *error) {
    Error err = {0};
    TrilState *s;
    if (!given(state, "the place for the state", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *state = NULL;
    if (!memory_alloc(&s, 1, sizeof *s, "the state", &err))
        return refusal(TRIL_NO_MEMORY, &err, error);
    if (load_state(s, path, &err)) {
        *state = s;
        return TRIL_OK;
    }
    tril_state_free(s);
    return refusal(TRIL_FILE, &err, error);
}

void tril_state_free(TrilState *s) {
    if (!s) return;
    checkpoint_free(&s->checkpoint);
    vocab_free(&s->tokenizer.vocab);
    memory_free(s);
}

const TrilTokenizer *tril_state_tokenizer(const TrilState *state) {
    return &state->tokenizer;
}

TrilProgress tril_state_progress(const TrilState *state) {
    return state->progress;
}

uint64_t tril_state_text(const TrilState *state) {
    return state->text;
}

uint64_t tril_state_teacher(const TrilState *state) {
    return state->teacher;
}

const char *tril_state_kernels(const TrilState *state) {
    return state->kernels;
}

const char *tril_state_note(const TrilState *state, const char *key) {
    const Note *note = checkpoint_note(&state->checkpoint, key);
    return note ? note->value : NULL;
}

TrilOptions tril_state_options(const TrilState *state) {
    return state->options;
}

/* ---- resuming ---- */

static bool same_teacher(const TrilState *state, const TrilModel *teacher, Error *err) {
    uint64_t now = teacher ? tril_model_digest(teacher) : 0, before = state->teacher;
    if (now == before) return true;
    if (!before) return fail(err, "this training has no teacher");
    return fail(err, "this training has %s teacher, with the digest %016" PRIx64,
                teacher ? "another" : "a", before);
}

/* Fails for what cannot be the same training. */
static TrilStatus check_same(const TrilState *state, const TrilText *text,
                             const TrilOptions *options, Error *err) {
    if (!state->checkpoint.model.weights) {
        fail(err, "the weights of this state are taken already");
        return TRIL_ARGUMENT;
    }
    if (!options_in_range(options, err) || !same_teacher(state, options->teacher, err))
        return TRIL_ARGUMENT;
    if (!vocab_same(&text->corpus.vocab, &state->tokenizer.vocab)) {
        fail(err, "the text was made with other ids than the state's");
        return TRIL_TEXT;
    }
    if (text->corpus.digest != state->text) {
        fail(err, "the text is not the one that the state was trained on");
        return TRIL_TEXT;
    }
    double held_out = state->options.held_out;
    if (text->held_out == held_out) return TRIL_OK;
    fail(err, "the text holds out %g of its characters, and the state's %g", text->held_out,
         held_out);
    return TRIL_TEXT;
}

/* Makes the model of the state, which then has none. */
static bool take_model(TrilModel **model, TrilState *state, Error *err) {
    Vocab vocab;
    if (!vocab_copy(&vocab, &state->tokenizer.vocab, err)) return false;
    bool ok = model_wrap(model, &state->checkpoint.model, &vocab, err);
    state->checkpoint.model = (Model){0};
    return ok;
}

TrilStatus tril_training_resume_from(TrilTraining **training, TrilModel **model, TrilState *state,
                                     const TrilText *text, const TrilOptions *options,
                                     TrilError *error) {
    Error err = {0};
    if (!given(training, "the place for the training", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    if (!given(model, "the place for the model", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    *model = NULL;
    if (!given(state, "the state", &err) || !given(text, "the text", &err) ||
        !given(options, "the options", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = check_same(state, text, options, &err);
    if (status != TRIL_OK) return refusal(status, &err, error);
    const TrilOptions *before = &state->options;
    const Checkpoint *c = &state->checkpoint;
    TrilOptions now = *options;
    if (now.windows && strcmp(now.windows, "auto") == 0) now.windows = NULL;
    options_take_sizes(&now, before);
    options_complete(&now, before);
    if (!teacher_fits(now.teacher, &state->tokenizer.vocab, c->model.config.T, &err) ||
        !take_model(model, state, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!text_suits(text, *model, &err))
        status = TRIL_TEXT;
    else if (!training_make(training, *model, text, &now, true, &err))
        status = TRIL_ARGUMENT;
    if (status == TRIL_OK) {
        training_restore(*training, &state->progress, c->first_moments, c->second_moments);
        return TRIL_OK;
    }
    tril_model_free(*model);
    *model = NULL;
    return refusal(status, &err, error);
}

/* ---- at once ---- */

/* Only ./train knows the rest of its plan. */
static TrilStatus load_plain(TrilState **state, const char *path, TrilError *error) {
    Error err = {0};
    TrilStatus status = tril_state_load(state, path, error);
    if (status != TRIL_OK) return status;
    assert(*state);
    if ((!isnan((*state)->options.time) && tril_state_note(*state, "run.model")) ||
        tril_state_note(*state, "ladder"))
        fail(&err, "%s: is the state of --time or --ladder, which ./train --resume continues",
             path);
    else if ((*state)->teacher)
        fail(&err,
             "%s: is the state of a training with a teacher, which tril_training_resume_from "
             "continues",
             path);
    else
        return TRIL_OK;
    return refusal(TRIL_FILE, &err, error);
}

TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model, const char *path,
                                const char *text, size_t length, int threads, TrilError *error) {
    Error err = {0};
    TrilState *state = NULL;
    TrilText *own = NULL;
    if (training) *training = NULL;
    if (model) *model = NULL;
    if (!given(text, "the text", &err) ||
        !in_range(threads, 0, TRIL_MAX_THREADS, "the number of threads", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = load_plain(&state, path, error);
    if (status == TRIL_OK &&
        !text_read(&own, &state->tokenizer.vocab, text, length, state->options.held_out,
                   state->checkpoint.model.config.T, &err))
        status = refusal(TRIL_TEXT, &err, error);
    if (status == TRIL_OK) {
        TrilOptions options = state->options;
        if (threads > 0) options.threads = threads;
        status = tril_training_resume_from(training, model, state, own, &options, error);
    }
    assert(status != TRIL_OK || (training && *training));
    if (status == TRIL_OK)
        (*training)->own = own;
    else
        tril_text_free(own);
    tril_state_free(state);
    return status;
}

TrilStatus tril_training_resume_on(TrilTraining **training, TrilModel **model, const char *path,
                                   const TrilText *text, int threads, TrilError *error) {
    Error err = {0};
    TrilState *state = NULL;
    if (training) *training = NULL;
    if (model) *model = NULL;
    if (!in_range(threads, 0, TRIL_MAX_THREADS, "the number of threads", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = load_plain(&state, path, error);
    if (status == TRIL_OK) {
        TrilOptions options = state->options;
        if (threads > 0) options.threads = threads;
        status = tril_training_resume_from(training, model, state, text, &options, error);
    }
    tril_state_free(state);
    return status;
}
