/* models.c - makes, reads and inspects the models of tril.h. */
#include "base/digest.h"
#include "base/memory.h"
#include "base/number.h"
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

bool model_new(TrilModel **made, Error *err) {
    if (!memory_alloc(made, 1, sizeof **made, "the model", err)) return false;
    (*made)->validation = NAN;
    return true;
}

/* Gives the model to the caller or, after a failure, releases it. */
static TrilStatus give(TrilModel **model, TrilModel *made, bool ok, TrilStatus status,
                       const Error *err) {
    *model = ok ? made : NULL;
    if (!ok) tril_model_free(made);
    return outcome(ok, status, err);
}

TrilStatus tril_model_make(TrilModel **model, const TrilTokenizer *tokenizer,
                           const TrilOptions *options, Error *err) {
    Config config;
    TrilModel *made = NULL;
    if (model) *model = NULL;
    if (!model || !tokenizer || !options || !err) return null_argument(err);
    bool ok = options_config(options, tokenizer->size, &config, err) && model_new(&made, err) &&
              vocab_copy(&made->vocab, tokenizer, err);
    config.dropout = 0;
    ok = ok && model_build(&made->model, &config, options->seed, err);
    if (ok) made->seed = options->seed;
    return give(model, made, ok, TRIL_ARGUMENT, err);
}

/* ---- more characters ---- */

/* Makes a copy, which the caller releases even after a failure. */
static bool copy_model(Model *copy, const Model *model, Error *err) {
    if (!model_lay_out(copy, &model->config, err) || !model_allocate(copy, err)) return false;
    memcpy(copy->weights, model->weights, model->weights_size * sizeof *model->weights);
    const NgramFacts text = ngram_facts(model->ngram);
    return text.count == 0 || model_count(copy, text.ids, text.count, false, err);
}

/* Makes `made`, which has a vocabulary, from a model that knows some of its characters. */
static bool extend(TrilModel *made, const TrilModel *model, uint64_t seed, Error *err) {
    const Vocab *all = &made->vocab, *known = &model->vocab;
    const bool grown = all->size > known->size;
    int32_t *sources = NULL;
    bool ok = copy_model(&made->model, &model->model, err) &&
              memory_alloc(&sources, (size_t)all->size, sizeof *sources, "the vocabulary", err);
    for (int id = 0; ok && id < all->size; id++) sources[id] = vocab_id(known, all->codes[id]);
    ok = ok && (!grown || model_extend(&made->model, all->size, sources, seed, err));
    memory_free(sources);
    made->seed = model->seed;
    made->text = model->text;
    made->step = model->step;
    made->trained = model->trained;
    if (!grown) made->validation = model->validation;
    return ok;
}

TrilStatus tril_model_extend(TrilModel **extended, const TrilModel *model, const char *text,
                             size_t length, uint64_t seed, Error *err) {
    TrilModel *made = NULL;
    if (extended) *extended = NULL;
    if (!extended || !model || !text || !err) return null_argument(err);
    TrilStatus status = model_read(model, err);
    if (status != TRIL_OK) return status;
    const bool read =
        model_new(&made, err) && vocab_extend(&made->vocab, &model->vocab, text, length, err);
    const bool ok = read && extend(made, model, seed, err);
    model_leave(model);
    return give(extended, made, ok, read ? TRIL_ARGUMENT : TRIL_TEXT, err);
}

/* ---- files ---- */

bool checkpoint_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err) {
    const Note *kind = safetensors_note(&checkpoint->file, "characters");
    const Note *text = safetensors_note(&checkpoint->file, "vocabulary");
    *vocab = (Vocab){0};
    if (!kind || !text) return fail(err, "%s: its metadata has no vocabulary", path);
    const bool bytes = strcmp(kind->value, "bytes") == 0;
    if (!(bytes ? vocab_build(vocab, NULL, 0, true, err)
                : vocab_split(vocab, text->value, text->length, err))) {
        if (!err->no_memory) fail(err, "%s: its metadata has no valid 'vocabulary'", path);
        return false;
    }
    if (vocab->size == checkpoint->model.config.V) return true;
    vocab_free(vocab);
    return fail(err, "%s: its vocabulary and its model have different sizes", path);
}

/* Takes the model and the metadata over. */
static void take_file(TrilModel *model, Checkpoint *from) {
    SafeTensors *file = &from->file;
    const char *step = safetensors_value(file, "step"), *seed = safetensors_value(file, "seed");
    const char *loss = safetensors_value(file, "validation_loss");
    model->trained = true;
    digest_read(safetensors_value(file, "text"), 0, &model->text);
    if (step) model->step = (int)strtol(step, NULL, 10);
    if (seed) model->seed = strtoull(seed, NULL, 10);
    if (loss) model->validation = number_read(loss, NULL);
    model->model = from->model;
    model->file = *file;
    from->model = (Model){0};
    *file = (SafeTensors){.notes = NULL};
}

TrilStatus tril_model_load(TrilModel **model, const char *path, Error *err) {
    Checkpoint c = {.first_moments = NULL};
    TrilModel *made;
    if (model) *model = NULL;
    if (!model || !path || !err) return null_argument(err);
    bool ok = model_new(&made, err) && checkpoint_load(&c, path, err) &&
              checkpoint_vocab(&c, path, &made->vocab, err);
    if (ok) take_file(made, &c);
    checkpoint_free(&c); /* the moments of a state are not needed */
    return give(model, made, ok, TRIL_FILE, err);
}

void tril_model_free(TrilModel *model) {
    if (!model) return;
    model_free(&model->model);
    notes_free(&model->notes);
    safetensors_free(&model->file);
    vocab_free(&model->vocab);
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
