/* models.c - makes, reads and inspects the models of tril.h. */
#include "base/memory.h"
#include "library/handles.h"

#include <math.h>
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
    (*made)->validation = (*made)->held_out = NAN;
    return true;
}

bool model_or_free(TrilModel **model, bool ok) {
    if (ok) return true;
    tril_model_free(*model);
    *model = NULL;
    return false;
}

TrilStatus tril_model_make(TrilModel **model, const TrilTokenizer *tokenizer,
                           const TrilOptions *options, Error *err) {
    Config config;
    if (model) *model = NULL;
    if (!model || !tokenizer || !options || !err) return null_argument(err);
    bool ok = options_config(options, tokenizer->size, &config, err) && model_new(model, err) &&
              vocab_copy(&(*model)->vocab, tokenizer, err);
    ok = ok && model_build(&(*model)->model, &config, options->seed, err);
    if (ok) (*model)->seed = options->seed;
    return result(model_or_free(model, ok), err);
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
    made->held_out = model->held_out;
    made->trained = model->trained;
    if (!grown) made->validation = model->validation;
    return ok;
}

TrilStatus tril_model_extend(TrilModel **extended, const TrilModel *model, const char *text,
                             size_t length, uint64_t seed, Error *err) {
    if (extended) *extended = NULL;
    if (!extended || !model || !text || !err) return null_argument(err);
    const bool ok = model_lock_shared(model, err) &&
                    model_unlock(model, model_new(extended, err) &&
                                            vocab_extend(&(*extended)->vocab, &model->vocab, text,
                                                         length, err) &&
                                            extend(*extended, model, seed, err));
    return result(model_or_free(extended, ok), err);
}

void model_forget(TrilModel *model) {
    for (int i = 0; i < COUNT(model->moments); i++) {
        memory_free(model->moments[i]);
        model->moments[i] = NULL;
    }
}

void tril_model_free(TrilModel *model) {
    if (!model) return;
    model_free(&model->model);
    model_forget(model);
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

const char *tril_model_metadata(const TrilModel *model, const char *key) {
    return safetensors_value(&model->file, key);
}

bool tril_model_tensor(TrilModel *model, int i, TrilTensor *tensor) {
    if (i < 0 || i >= model->model.tensor_count) return false;
    model->validation = NAN; /* the weights may change now */
    *tensor = model_tensor(&model->model, i);
    return true;
}
