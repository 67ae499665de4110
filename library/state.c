/* state.c - writes and reads the files of a training run: models, which ./sample reads, and states,
 * from which a training run is resumed. Each is one checkpoint, complete at any time. */
#include "base/array.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "library/handles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The version of the metadata of states. Another version cannot be resumed. */
static const char version[] = "3";

/* The numbers of a TrilModel: those of all files, and those of models alone. */
static const Number origins[] = {
    {"seed", offsetof(TrilModel, seed), .type = SEED, .may_lack = true},
    {"text", offsetof(TrilModel, text), .type = DIGEST, .may_lack = true},
    {"val", offsetof(TrilModel, held_out), .type = DOUBLE, .may_lack = true},
};
static const Number results[] = {
    {"step", offsetof(TrilModel, step), .type = INT, .may_lack = true},
    {"validation_loss", offsetof(TrilModel, validation), .type = DOUBLE_6, .may_lack = true},
};

/* Those of states: a TrilProgress. */
static const Number numbers[] = {
    {"step", offsetof(TrilProgress, step), .type = INT},
    {"recent_loss", offsetof(TrilProgress, recent), .type = DOUBLE, .may_lack = true},
    {"recent_steps", offsetof(TrilProgress, recent_steps), .type = INT},
    {"learning_seconds", offsetof(TrilProgress, seconds), .type = DOUBLE},
    {"operations", offsetof(TrilProgress, operations), .type = DOUBLE},
    {"lowest_loss", offsetof(TrilProgress, lowest), .type = DOUBLE, .may_lack = true},
    {"lowest_step", offsetof(TrilProgress, lowest_step), .type = INT},
    {"stale", offsetof(TrilProgress, since_lowest), .type = INT},
    {"cooling", offsetof(TrilProgress, cooldown_begin), .type = DOUBLE},
    {"cooled", offsetof(TrilProgress, cooldown_end), .type = INT},
    {"windows_grow", offsetof(TrilProgress, windows_grow), .type = INT},
    {"embedding_decay", offsetof(TrilProgress, embedding_decay), .type = DOUBLE, .may_lack = true},
};

static const char *const keys[] = {"characters", "vocabulary", "state", "kernels"};

enum { KEY_SIZE = 40 };

static void option_key(int i, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "option.%s", tril_option(i)->name);
}

/* Returns true if states store the option. The model has the others, or none is needed. */
static bool is_stored(const TrilOption *row) {
    return (row->on_resume == TRIL_FIXED || row->on_resume == TRIL_KEPT) &&
           row->member != offsetof(TrilOptions, bytes);
}

/* ---- writing ---- */

static bool put_vocab(MetadataList *metadata, const Vocab *vocab, Error *err) {
    char *joined = NULL;
    size_t length = 0;
    const bool ok = (vocab->bytes || vocab_join(vocab, &joined, &length, err)) &&
                    metadata_text(metadata, "characters", vocab->bytes ? "bytes" : "utf-8", err) &&
                    metadata_put(metadata, "vocabulary", joined ? joined : "", length, err);
    memory_free(joined);
    return ok;
}

/* Adds the metadata of a state alone. */
static bool put_state(MetadataList *metadata, const TrilTraining *t, Error *err) {
    char key[KEY_SIZE], text[TRIL_OPTION_SIZE];
    bool ok = metadata_text(metadata, "state", version, err) &&
              numbers_put(metadata, numbers, COUNT(numbers), &t->progress, err);
    for (int i = 0; tril_option(i) && ok; i++) {
        option_key(i, key);
        if (is_stored(tril_option(i)) && tril_options_get(&t->options, i, text))
            ok = metadata_text(metadata, key, text, err);
    }
    return ok && metadata_text(metadata, "kernels", run_kernels(t->batches.run), err);
}

static bool is_reserved(const char *key) {
    bool is = strncmp(key, "option.", strlen("option.")) == 0 || checkpoint_has_key(key) ||
              numbers_have(origins, COUNT(origins), key) ||
              numbers_have(results, COUNT(results), key) ||
              numbers_have(numbers, COUNT(numbers), key);
    for (int i = 0; i < COUNT(keys); i++) is = is || strcmp(key, keys[i]) == 0;
    return is;
}

/* Adds the metadata of a program. */
static bool put_own(MetadataList *metadata, const TrilMetadata *own, Error *err) {
    for (const TrilMetadata *entry = own; entry && entry->key; entry++) {
        if (!entry->text || !utf8_valid(entry->key) || !utf8_valid(entry->text))
            return fail(err, "the metadata is not UTF-8");
        if (is_reserved(entry->key))
            return fail(err, "'%.64s' is a reserved key of the metadata; choose another",
                        entry->key);
        if (!metadata_text(metadata, entry->key, entry->text, err)) return false;
    }
    return true;
}

/* Writes a model, or the state of its training `t`, with the metadata of a program. */
static bool save(const TrilModel *model, const TrilTraining *t, const char *path,
                 const TrilMetadata *own, Error *err) {
    MetadataList metadata = {.count = 0};
    bool ok = put_vocab(&metadata, &model->vocab, err) &&
              numbers_put(&metadata, origins, COUNT(origins), model, err) &&
              (t ? put_state(&metadata, t, err)
                 : numbers_put(&metadata, results, COUNT(results), model, err)) &&
              put_own(&metadata, own, err) &&
              checkpoint_save(path, &model->model, t ? t->batches.run : NULL, metadata.list,
                              metadata.count, err);
    metadata_free(&metadata);
    return ok;
}

TrilStatus tril_model_save(const TrilModel *model, const char *path, const TrilMetadata *metadata,
                           Error *err) {
    if (!model || !path || !err) return null_argument(err);
    return result(model_lock_shared(model, err) &&
                      model_unlock(model, save(model, NULL, path, metadata, err)),
                  err);
}

TrilStatus tril_training_save(TrilTraining *t, const char *path, const TrilMetadata *metadata,
                              Error *err) {
    if (!t || !path || !err) return null_argument(err);
    if (!model_lock_exclusive(t->model, err)) return err->status;
    run_collect(t->batches.run);
    return result(model_unlock(t->model, save(t->model, t, path, metadata, err)), err);
}

/* ---- reading ---- */

/* Reads the vocabulary from the metadata of a model's file, and checks its size. */
static bool read_vocab(TrilModel *model, const char *path, Error *err) {
    const Metadata *kind = safetensors_metadata(&model->file, "characters");
    const Metadata *text = safetensors_metadata(&model->file, "vocabulary");
    Vocab *vocab = &model->vocab;
    if (!kind || !text) return fail(err, "%s: its metadata has no vocabulary", path);
    const bool bytes = strcmp(kind->value, "bytes") == 0;
    if (!bytes && strcmp(kind->value, "utf-8") != 0)
        return fail(err, "%s: its metadata has no valid 'characters'", path);
    if (!(bytes ? vocab_build(vocab, NULL, 0, true, err)
                : vocab_split(vocab, text->value, text->length, err)))
        return err->status != TRIL_NO_MEMORY &&
               fail(err, "%s: its metadata has no valid 'vocabulary'", path);
    return vocab->size == model->model.config.V ||
           fail(err, "%s: its vocabulary and its model have different sizes", path);
}

/* Reads the model of a file, and the moments of a state. */
static bool read_file(TrilModel **made, const char *path, Error *err) {
    if (!model_new(made, err)) return false;
    TrilModel *model = *made;
    if (!checkpoint_load(&model->model, model->moments, &model->file, path, err)) return false;
    model->trained = true;
    const char *bad = numbers_read(&model->file, origins, COUNT(origins), model);
    if (!bad) bad = numbers_read(&model->file, results, COUNT(results), model);
    if (bad) return fail(err, "%s: its metadata has no valid '%s'", path, bad);
    return read_vocab(model, path, err);
}

TrilStatus tril_model_load(TrilModel **model, const char *path, Error *err) {
    if (model) *model = NULL;
    if (!model || !path || !err) return null_argument(err);
    const bool ok = or_as(read_file(model, path, err), TRIL_FILE, err);
    if (ok) model_forget(*model);
    return result(model_or_free(model, ok), err);
}

/* Reads the options. Returns the name of the first invalid one, or NULL. Those that every training
 * run decides must be there; any other that the state lacks has its default or is unset. */
static const char *read_options(const TrilModel *model, TrilOptions *options) {
    *options = tril_model_sizes(model);
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        const bool decided = row->member == offsetof(TrilOptions, steps) ||
                             row->member == offsetof(TrilOptions, batch) ||
                             row->member == offsetof(TrilOptions, dropout) ||
                             row->member == offsetof(TrilOptions, eval_every);
        char key[KEY_SIZE];
        if (!is_stored(row)) continue;
        option_key(i, key);
        const Metadata *entry = safetensors_metadata(&model->file, key);
        const char *value = entry ? entry->value : row->standard;
        if (value ? strlen(value) == 0 || (entry && strlen(value) != entry->length) ||
                        tril_options_set(options, row->name, value, &(Error){0}) != TRIL_OK
                  : decided)
            return row->name;
    }
    options->bytes = model->vocab.bytes;
    return NULL;
}

/* Reads the facts of a state. Returns the key of the first invalid entry, or NULL. */
static const char *read_state(TrilModel *model, TrilState *state) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    TrilProgress *progress = &state->progress;
    *state = (TrilState){.progress.loss = NAN, .text = model->text};
    const char *bad = numbers_read(&model->file, numbers, COUNT(numbers), progress);
    if (!bad && progress->cooldown_begin > 0 &&
        !(progress->cooldown_end >= progress->cooldown_begin))
        bad = "cooled";
    if (!bad) bad = read_options(model, &state->options);
    if (!bad && !safetensors_metadata(&model->file, "text")) bad = "text";
    if (bad) return bad;
    const Metadata *kernels = safetensors_metadata(&model->file, "kernels");
    if (!kernels || kernels->length > 15 || strspn(kernels->value, letters) != kernels->length)
        return "kernels";
    progress->steps = (int)state->options.steps;
    if (progress->cooldown_begin > 0 && progress->cooldown_end < progress->steps)
        progress->steps = progress->cooldown_end;
    model->progress = *progress;
    model->held_out = state->options.held_out;
    return NULL;
}

TrilStatus tril_state_load(TrilModel **model, TrilState *state, const char *path, Error *err) {
    const char *bad = NULL;
    if (model) *model = NULL;
    if (!model || !state || !path || !err) return null_argument(err);
    bool ok = read_file(model, path, err);
    if (ok && !(*model)->moments[0])
        ok = fail(err, "%s: is a model, not the state of a training run", path);
    const char *of = ok ? tril_model_metadata(*model, "state") : NULL;
    if (ok && (!of || strcmp(of, version) != 0))
        ok = fail(err,
                  "%s: was written by another version of tril and cannot be resumed; begin a new "
                  "run with its model as 'init'",
                  path);
    if (ok && (bad = read_state(*model, state)))
        ok = fail(err, "%s: its metadata has no valid '%s'", path, bad);
    return result(model_or_free(model, or_as(ok, TRIL_FILE, err)), err);
}
