/* state.c - the states of a training in tril.h: written, read, and continued. */
#include "base/memory.h"
#include "base/utf8.h"
#include "library/trained.h"
#include "library/training.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

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
    if (state_has_key(key)) return fail(err, "a state has a note '%.64s' of its own", key);
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

TrilStatus tril_training_save(TrilTraining *t, const char *path, TrilError *error) {
    Error err = {0};
    if (!given(t, "the training", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    workers_collect(&t->training.workers);
    return save_state(path, &t->training, &t->settings, t->teacher_digest, t->notes, t->note_count,
                      &err)
               ? TRIL_OK
               : refusal(TRIL_FILE, &err, error);
}

/* ---- reading ---- */

struct TrilState {
    State state;
    TrilTokenizer tokenizer;
};

void tril_state_free(TrilState *s) {
    if (!s) return;
    state_free(&s->state);
    vocab_free(&s->tokenizer.vocab);
    memory_free(s);
}

TrilStatus tril_state_load(TrilState **state, const char *path, TrilError *error) {
    Error err = {0};
    TrilState *s;
    if (!given(state, "the place for the state", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *state = NULL;
    if (!memory_alloc(&s, 1, sizeof *s, "the state", &err))
        return refusal(TRIL_NO_MEMORY, &err, error);
    if (state_load(&s->state, path, &err) &&
        trained_vocab(&s->state.checkpoint, path, &s->tokenizer.vocab, &err)) {
        *state = s;
        return TRIL_OK;
    }
    tril_state_free(s);
    return refusal(TRIL_FILE, &err, error);
}

const TrilTokenizer *tril_state_tokenizer(const TrilState *state) {
    return &state->tokenizer;
}

TrilSizes tril_state_sizes(const TrilState *state) {
    return sizes_of(&state->state.settings.config);
}

TrilProgress tril_state_progress(const TrilState *state) {
    const Progress *p = &state->state.progress;
    int steps = state->state.settings.steps;
    bool cools = p->decay_start > 0 && p->decay_end < steps;
    return progress_from(p, cools ? (int)p->decay_end : steps);
}

uint64_t tril_state_text(const TrilState *state) {
    return state->state.text;
}

uint64_t tril_state_teacher(const TrilState *state) {
    return state->state.teacher;
}

const char *tril_state_kernels(const TrilState *state) {
    return state->state.kernels;
}

const char *tril_state_note(const TrilState *state, const char *key) {
    const Note *note = checkpoint_note(&state->state.checkpoint, key);
    return note ? note->value : NULL;
}

TrilOptions tril_state_options(const TrilState *state) {
    return options_from(&state->state.settings, 0, NULL);
}

/* ---- going on ---- */

/* Makes the model of the state, which then has none. */
static bool take_model(TrilModel **model, TrilState *state, Error *err) {
    Vocab vocab;
    if (!vocab_copy(&vocab, &state->tokenizer.vocab, err)) return false;
    bool ok = model_wrap(model, &state->state.checkpoint.model, &vocab, err);
    state->state.checkpoint.model = (Model){0};
    return ok;
}

static bool same_teacher(const TrilState *state, const TrilModel *teacher, Error *err) {
    uint64_t now = teacher ? tril_model_digest(teacher) : 0, before = state->state.teacher;
    if (now == before) return true;
    if (!before) return fail(err, "this training has no teacher");
    return fail(err, "this training has %s teacher, with the digest %016" PRIx64,
                teacher ? "another" : "a", before);
}

/* Refused: what cannot be the same training. */
static TrilStatus check_same(const TrilState *state, const TrilText *text,
                             const TrilOptions *options, Error *err) {
    if (!state->state.checkpoint.model.weights) {
        fail(err, "the weights of this state are taken already");
        return TRIL_ARGUMENT;
    }
    if (!same_teacher(state, options->teacher, err)) return TRIL_ARGUMENT;
    if (!vocab_same(&text->corpus.vocab, &state->tokenizer.vocab)) {
        fail(err, "the text was made with other ids than the state's");
        return TRIL_TEXT;
    }
    if (text->corpus.digest != state->state.text) {
        fail(err, "the text is not the one that the state was trained on");
        return TRIL_TEXT;
    }
    double held_out = state->state.settings.held_out;
    if (text->held_out == held_out) return TRIL_OK;
    fail(err, "the text holds out %g of its characters, and the state's %g", text->held_out,
         held_out);
    return TRIL_TEXT;
}

/* Fills t, whose model it makes. */
static TrilStatus go_on(TrilTraining *t, TrilState *state, const TrilText *text,
                        const TrilOptions *options, Error *err) {
    RunOptions run;
    TrilStatus status = check_same(state, text, options, err);
    if (status != TRIL_OK) return status;
    const Checkpoint *c = &state->state.checkpoint;
    if (!settings_from(&t->settings, &run, &c->model.config, options, err) ||
        !teacher_fits(options->teacher, &state->tokenizer.vocab, run.length, err) ||
        !take_model(&t->model, state, err))
        return TRIL_ARGUMENT;
    if (!text_suits(text, t->model, err)) return TRIL_TEXT;
    t->text = text;
    t->teacher = options->teacher;
    t->settings.bytes = vocab_of(t->model)->bytes;
    t->settings.held_out = text->held_out;
    const Settings *before = &state->state.settings;
    if (t->settings.steps == 0) t->settings.steps = before->steps;
    if (t->settings.config.dropout < 0) t->settings.config.dropout = before->config.dropout;
    if (t->settings.windows == WINDOWS_AUTO) t->settings.windows = before->windows;
    settings_complete(&t->settings);
    status = training_begin(t, &run, true, err);
    if (status == TRIL_OK)
        training_restore(&t->training, &state->state.progress, c->first_moments, c->second_moments);
    return status;
}

static TrilStatus resume_from(TrilTraining **training, TrilModel **model, TrilState *state,
                              const TrilText *text, const TrilOptions *options, Error *err) {
    TrilTraining *t;
    if (!given(state, "the state", err) || !given(text, "the text", err) ||
        !given(options, "the options", err))
        return TRIL_ARGUMENT;
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) return TRIL_NO_MEMORY;
    TrilStatus status = go_on(t, state, text, options, err);
    if (status == TRIL_OK) {
        training_mark(t);
        *training = t;
        *model = t->model;
        return status;
    }
    training_release(t);
    tril_model_free(t->model);
    memory_free(t);
    return status;
}

static bool places_given(TrilTraining **training, TrilModel **model, Error *err) {
    if (!given(training, "the place for the training", err)) return false;
    *training = NULL;
    if (!given(model, "the place for the model", err)) return false;
    *model = NULL;
    return true;
}

TrilStatus tril_training_resume_from(TrilTraining **training, TrilModel **model, TrilState *state,
                                     const TrilText *text, const TrilOptions *options,
                                     TrilError *error) {
    Error err = {0};
    if (!places_given(training, model, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = resume_from(training, model, state, text, options, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* ---- at once ---- */

/* Has one of the state's notes in the words of ./train this word? */
static bool has_word(const TrilState *state, const char *word) {
    const char *notes[] = {tril_state_note(state, "settings"), tril_state_note(state, "request")};
    for (int i = 0; i < 2; i++)
        if (notes[i] && strstr(notes[i], word)) return true;
    return false;
}

/* Only ./train knows the rest of its plan. */
static bool plain(const TrilState *state, const char *path, Error *err) {
    if (has_word(state, "--time=") || has_word(state, "--ladder"))
        return fail(err, "%s: is the state of --time or --ladder, which ./train --resume continues",
                    path);
    return !state->state.teacher ||
           fail(err,
                "%s: is the state of a training with a teacher, which tril_training_resume_from "
                "continues",
                path);
}

static TrilStatus resume_state(TrilTraining **training, TrilModel **model, TrilState *state,
                               const TrilText *text, int threads, Error *err) {
    TrilOptions options = tril_state_options(state);
    options.threads = threads;
    return resume_from(training, model, state, text, &options, err);
}

static TrilStatus load(TrilState **state, const char *path, Error *err) {
    TrilError why;
    TrilStatus status = tril_state_load(state, path, &why);
    if (status != TRIL_OK) {
        fail(err, "%s", why.text);
        return status;
    }
    assert(*state);
    return plain(*state, path, err) ? TRIL_OK : TRIL_FILE;
}

TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model, const char *path,
                                const char *text, size_t length, int threads, TrilError *error) {
    Error err = {0};
    TrilState *state = NULL;
    TrilText *own = NULL;
    if (!places_given(training, model, &err) || !given(text, "the text", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = load(&state, path, &err);
    if (status == TRIL_OK) {
        const Settings *s = &state->state.settings;
        bool read =
            text_read(&own, &state->tokenizer.vocab, text, length, s->held_out, s->config.T, &err);
        status = read ? resume_state(training, model, state, own, threads, &err) : TRIL_TEXT;
    }
    if (status == TRIL_OK)
        (*training)->own = own;
    else
        tril_text_free(own);
    tril_state_free(state);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilStatus tril_training_resume_on(TrilTraining **training, TrilModel **model, const char *path,
                                   const TrilText *text, int threads, TrilError *error) {
    Error err = {0};
    TrilState *state = NULL;
    if (!places_given(training, model, &err) || !given(text, "the text", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = load(&state, path, &err);
    if (status == TRIL_OK) status = resume_state(training, model, state, text, threads, &err);
    tril_state_free(state);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}
