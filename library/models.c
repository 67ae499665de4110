/* models.c - makes, reads, exports and inspects the models of tril.h. */
#include "base/digest.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "library/formats.h"
#include "library/message.h"
#include "library/option_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tril_version(void) {
    return TRIL_VERSION;
}

/* ---- the ladder ---- */

const char *tril_rung(int i) {
    return model_name(i);
}

const char *tril_rung_idea(int i) {
    return model_idea(i);
}

/* ---- making ---- */

bool model_wrap(TrilModel **made, Model *model, Vocab *vocab, Error *err) {
    bool ok = memory_alloc(made, 1, sizeof **made, "the model", err);
    if (ok) {
        **made = (TrilModel){.vocab = *vocab, .model = *model, .validation = NAN};
    } else {
        model_free(model);
        vocab_free(vocab);
    }
    return ok;
}

TrilStatus tril_model_make(TrilModel **model, const TrilTokenizer *tokenizer,
                           const TrilOptions *options, TrilError *error) {
    Error err = {0};
    Config config;
    Vocab vocab = {0};
    Model built;
    if (model) *model = NULL;
    if (!model || !tokenizer || !options) return null_argument(error);
    bool ok = options_config(options, tokenizer->size, &config, &err) &&
              vocab_copy(&vocab, tokenizer, &err);
    config.dropout = 0;
    if (!ok || !model_build(&built, &config, options->seed, &err)) {
        vocab_free(&vocab);
        return failed(TRIL_ARGUMENT, &err, error);
    }
    ok = model_wrap(model, &built, &vocab, &err);
    if (ok) (*model)->seed = options->seed;
    return outcome(ok, TRIL_ARGUMENT, &err, error);
}

bool model_know(TrilModel *model, const LineDigests *known, Error *err) {
    const size_t count = known->count, size = sizeof *known->digests;
    memory_free(model->known.digests);
    model->known = (LineDigests){.count = 0};
    if (!memory_alloc(&model->known.digests, count, size, "the lines", err)) return false;
    model->known.count = count;
    if (count > 0) memcpy(model->known.digests, known->digests, count * size);
    return true;
}

/* ---- more characters ---- */

/* Makes a copy, which the caller releases even after a failure. */
static bool copy_model(Model *copy, const Model *model, Error *err) {
    if (!model_lay_out(copy, &model->config, err) || !model_allocate(copy, err)) return false;
    memcpy(copy->weights, model->weights, model->weights_size * sizeof *model->weights);
    const NgramFacts text = ngram_facts(model->ngram);
    return text.count == 0 || model_count(copy, text.ids, text.count, false, err);
}

/* Takes ownership of *all, which contains the model's characters, even on failure. */
static bool extend(TrilModel **extended, const TrilModel *model, Vocab *all, uint64_t seed,
                   Error *err) {
    const Vocab *known = &model->vocab;
    const bool grown = all->size > known->size;
    Model copy = {0};
    int32_t *sources = NULL;
    bool ok = copy_model(&copy, &model->model, err) &&
              memory_alloc(&sources, (size_t)all->size, sizeof *sources, "the vocabulary", err);
    for (int id = 0; ok && id < all->size; id++) sources[id] = vocab_id(known, all->codes[id]);
    ok = ok && (!grown || model_extend(&copy, all->size, sources, seed, err));
    memory_free(sources);
    if (!ok) {
        model_free(&copy);
        vocab_free(all);
        return false;
    }
    if (!model_wrap(extended, &copy, all, err)) return false;
    TrilModel *made = *extended;
    made->seed = model->seed;
    made->text = model->text;
    made->step = model->step;
    made->trained = model->trained;
    if (!grown) made->validation = model->validation;
    if (model_know(made, &model->known, err)) return true;
    tril_model_free(made);
    *extended = NULL;
    return false;
}

TrilStatus tril_model_extend(TrilModel **extended, const TrilModel *model, const char *text,
                             size_t length, uint64_t seed, TrilError *error) {
    Error err = {0};
    Vocab all;
    if (extended) *extended = NULL;
    if (!extended || !model || !text) return null_argument(error);
    if (!vocab_extend(&all, &model->vocab, text, length, &err))
        return failed(TRIL_TEXT, &err, error);
    return outcome(extend(extended, model, &all, seed, &err), TRIL_ARGUMENT, &err, error);
}

/* ---- files ---- */

bool checkpoint_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err) {
    const Note *kind = safetensors_note(&checkpoint->file, "characters");
    const Note *text = safetensors_note(&checkpoint->file, "vocabulary");
    *vocab = (Vocab){0};
    if (!kind || !text) return fail(err, "%s: its metadata has no vocabulary", path);
    bool bytes = strcmp(kind->value, "bytes") == 0;
    if (!vocab_build(vocab, text->value, text->length, bytes, err)) {
        if (!err->no_memory) fail(err, "%s: its metadata has no valid 'vocabulary'", path);
        return false;
    }
    bool ok = vocab->size == checkpoint->model.config.V;
    vocab->lines = safetensors_note(&checkpoint->file, "lines") && vocab_id(vocab, '\n') >= 0;
    const char *at =
        text->value; /* must be sorted and distinct, or ids would mean other characters */
    for (int id = 0; ok && !bytes && id < vocab->size; id++) {
        char one[UTF8_MAX];
        const size_t count = (size_t)vocab_text(vocab, id, one);
        ok = count <= text->length - (size_t)(at - text->value) && memcmp(at, one, count) == 0;
        at += count;
    }
    if (ok && (bytes || at == text->value + text->length)) return true;
    vocab_free(vocab);
    return fail(err, "%s: its vocabulary and its model have different sizes", path);
}

/* Takes the metadata and the lines over. A file of another program has none. */
static void take_metadata(TrilModel *model, Checkpoint *from) {
    SafeTensors *file = &from->file;
    const char *step = safetensors_value(file, "step"), *seed = safetensors_value(file, "seed");
    const char *loss = safetensors_value(file, "validation_loss");
    model->trained = true;
    digest_read(safetensors_value(file, "text"), 0, &model->text);
    if (step) model->step = (int)strtol(step, NULL, 10);
    if (seed) model->seed = strtoull(seed, NULL, 10);
    if (loss) model->validation = number_read(loss, NULL);
    model->file = *file;
    model->known = from->known;
    *file = (SafeTensors){.notes = NULL};
    from->known = (LineDigests){0};
}

TrilStatus tril_model_load(TrilModel **model, const char *path, TrilError *error) {
    Error err = {0};
    Checkpoint c = {.first_moments = NULL};
    Vocab vocab = {0};
    if (model) *model = NULL;
    if (!model || !path) return null_argument(error);
    const Format *format = format_to_read(path);
    bool ok = format ? format->read(&c.model, &vocab, path, &err)
                     : checkpoint_load(&c, path, &err) && checkpoint_vocab(&c, path, &vocab, &err);
    if (ok) {
        ok = model_wrap(model, &c.model, &vocab, &err);
        c.model = (Model){0};
    }
    if (ok) take_metadata(*model, &c);
    checkpoint_free(&c); /* the moments of a state are not needed */
    return outcome(ok, TRIL_FILE, &err, error);
}

TrilStatus tril_file_digest(const char *path, const char *key, uint64_t *digest, TrilError *error) {
    Error err = {0};
    File from;
    SafeTensors file;
    if (!path || !key || !digest) return null_argument(error);
    *digest = 0;
    if (!file_open(&from, path, &err)) return failed(TRIL_FILE, &err, error);
    bool ok = safetensors_open(&file, &from, &err);
    file_close(&from);
    if (!ok) return failed(TRIL_FILE, &err, error);
    digest_read(safetensors_value(&file, key), 0, digest);
    safetensors_free(&file);
    return TRIL_OK;
}

/* ---- other programs' files ---- */

const Format *format_to_read(const char *path) {
    for (int i = 0; formats[i]; i++)
        if (formats[i]->read && formats[i]->recognizes(path)) return formats[i];
    return NULL;
}

const Format *format_to_write(const char *path, const char *type, Error *err) {
    int i = 0, any;
    while (formats[i] && !formats[i]->names(path)) i++;
    if (!formats[i]) {
        fail(err, "%s: this build cannot export models: it lacks extras/formats", path);
        return NULL;
    }
    return name_find(formats[i]->types, type, &any, "precision", err) || message_of(err, path)
               ? formats[i]
               : NULL;
}

TrilStatus tril_model_export(const TrilModel *model, const char *path, const char *type,
                             TrilError *error) {
    Error err = {0};
    if (!model || !path || !type) return null_argument(error);
    const Format *format = format_to_write(path, type, &err);
    if (!format) return failed(TRIL_ARGUMENT, &err, error);
    bool ok = format->write(&model->model, &model->vocab, type, path, &err);
    return outcome(ok, TRIL_FILE, &err, error);
}

void tril_model_free(TrilModel *model) {
    if (!model) return;
    model_free(&model->model);
    notes_free(&model->notes);
    safetensors_free(&model->file);
    vocab_free(&model->vocab);
    memory_free(model->known.digests);
    memory_free(model);
}

/* ---- contents ---- */

const TrilTokenizer *tril_model_tokenizer(const TrilModel *model) {
    return &model->vocab;
}

TrilOptions tril_model_sizes(const TrilModel *model) {
    return options_of(&model->model.config);
}

size_t tril_model_parameters(const TrilModel *model) {
    return model->model.parameters;
}

uint64_t tril_model_digest(const TrilModel *model) {
    return model_digest(&model->model);
}

int tril_model_counted(const TrilModel *model, size_t *characters) {
    const NgramFacts facts = ngram_facts(model->model.ngram);
    *characters = facts.count;
    return facts.order;
}

double tril_model_loss(const TrilModel *model) {
    return model->validation;
}

bool tril_model_knows_lines(const TrilModel *model) {
    return model->known.count;
}

bool tril_model_has_line(const TrilModel *model, const char *line, size_t length) {
    return lines_known(&model->known, line, length);
}

const char *tril_model_note(const TrilModel *model, const char *key) {
    return safetensors_value(&model->file, key);
}

bool tril_model_tensor(TrilModel *model, int i, TrilTensor *tensor) {
    if (i < 0 || i >= model->model.tensor_count) return false;
    const Tensor *t = &model->model.tensors[i];
    model->validation = NAN; /* the weights may change now */
    *tensor = (TrilTensor){.name = t->name,
                           .rows = t->shape[0],
                           .columns = t->rank == 2 ? t->shape[1] : 1,
                           .rank = t->rank,
                           .data = model->model.weights + t->offset};
    return true;
}
