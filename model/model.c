/* model.c - the ladder, and how a rung's list of weights becomes a model. */
#include "model/rungs/rungs.h"
#include "model/rungs/rung.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/random.h"
#include "library/tril.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DECLARE(name) extern const Rung name##_rung;
#define ADDRESS(name) &name##_rung,
LADDER(DECLARE)
static const Rung *const ladder[] = {LADDER(ADDRESS)};

#define NAME(name) #name,
const char *const model_names[] = {LADDER(NAME) NULL};

const char *model_name(int i) {
    return i >= 0 && i < COUNT(ladder) ? model_names[i] : NULL;
}

const char *model_idea(int i) {
    return model_name(i) ? ladder[i]->idea : NULL;
}

static const Rung *find_rung(const char *name) {
    for (int i = 0; i < COUNT(ladder); i++)
        if (strcmp(ladder[i]->name, name) == 0) return ladder[i];
    return NULL;
}

int size_of(const Config *c, Size size) {
    switch (size) {
        case SIZE_1: return 1;
        case SIZE_4: return 4;
        case SIZE_V: return c->V;
        case SIZE_T: return c->T;
        case SIZE_C: return c->C;
        case SIZE_3C: return 3 * c->C;
        case SIZE_4C: return 4 * c->C;
        case SIZE_HS: return c->C / c->NH;
        case SIZE_NKV: return c->NKV > 0 ? c->NKV : c->NH;
        case SIZE_KV: return (c->NKV > 0 ? c->NKV : c->NH) * (c->C / c->NH);
        case SIZE_H: return c->H > 0 ? c->H : (8 * c->C + 95) / 96 * 32;
    }
    return 0;
}

/* Returns true if each block has such a weight: its name then contains a %d. */
static bool is_in_blocks(const WeightSpec *spec) {
    return strstr(spec->name, "%d");
}

static int copies_of(const WeightSpec *spec, const Config *c) {
    return is_in_blocks(spec) ? c->L : 1;
}

static bool has_size(const Rung *rung, Size size) {
    for (int i = 0; i < rung->weight_count; i++)
        if (rung->weights[i].rows == size || rung->weights[i].columns == size) return true;
    return false;
}

/* Checks NKV and H. Sets them to USUAL_SIZE where they are usual, or if the rung lacks them. */
static bool check_own(Config *c, const Rung *rung, Error *err) {
    Config usual = *c;
    usual.H = USUAL_SIZE;
    if (!has_size(rung, SIZE_KV) || c->NKV == c->NH) c->NKV = USUAL_SIZE;
    if (!has_size(rung, SIZE_H) || c->H == size_of(&usual, SIZE_H)) c->H = USUAL_SIZE;
    if (c->NKV < 0 || (c->NKV > 0 && c->NH % c->NKV != 0))
        return fail(err, "%d heads cannot be divided evenly among %d key-value heads", c->NH,
                    c->NKV);
    if (c->H < 0 || c->H > TRIL_MAX_WIDTH)
        return fail(err, "the number of channels inside the MLP, %d, is not between 1 and %d", c->H,
                    TRIL_MAX_WIDTH);
    return true;
}

bool model_check(Config *c, Error *err) {
    const Rung *rung = find_rung(c->model);
    if (!rung) return name_find(model_names, c->model, &(int){0}, "model", err);
    if (!has_size(rung, SIZE_C)) c->C = 1;
    if (!rung->has_heads) c->NH = 1;
    bool has_blocks = false;
    for (int i = 0; i < rung->weight_count; i++)
        has_blocks = has_blocks || is_in_blocks(&rung->weights[i]);
    if (!has_blocks) c->L = 1;
    if (c->V < 1 || c->V > MAX_VOCABULARY)
        return fail(err, "the vocabulary size %d is not between 1 and %d", c->V, MAX_VOCABULARY);
    if (c->T < 1 || c->T > TRIL_MAX_CONTEXT)
        return fail(err, "a context of %d is not between 1 and %d", c->T, TRIL_MAX_CONTEXT);
    if (c->L < 1 || c->L > TRIL_MAX_LAYERS)
        return fail(err, "the number of layers, %d, is not between 1 and %d", c->L,
                    TRIL_MAX_LAYERS);
    if (c->C < 1 || c->C > TRIL_MAX_WIDTH)
        return fail(err, "a width of %d is not between 1 and %d", c->C, TRIL_MAX_WIDTH);
    if (c->NH < 1 || c->C % c->NH != 0)
        return fail(err, "a width of %d is not divisible by %d heads", c->C, c->NH);
    if (rung->even_heads && c->C / c->NH % 2 != 0)
        return fail(
            err,
            "a width of %d with %d heads gives heads of %d channels; rotary positions need an "
            "even number",
            c->C, c->NH, c->C / c->NH);
    return check_own(c, rung, err);
}

double model_parameters(const Config *c) {
    const Rung *rung = find_rung(c->model);
    double count = 0;
    for (int i = 0; i < rung->weight_count; i++) {
        const WeightSpec *spec = &rung->weights[i];
        count += (double)copies_of(spec, c) * size_of(c, spec->rows) *
                 ((double)size_of(c, spec->columns) + spec->bias);
    }
    return count;
}

/* Checks that all sizes that follow from the weights, such as the bytes of their moments, fit a
 * size_t. With eight bytes they always do; with four, the weights must be few. */
static bool check_count(const Config *c, double count, Error *err) {
    const double spare = 16;
    if (count * sizeof(float) <= (double)SIZE_MAX / spare) return true;
    return fail_memory(err,
                       "%s with these sizes has %.0f million weights, too many for this machine",
                       c->model, count / 1e6);
}

/* Sets every tensor's offset: those of no block first, then block by block, Muon's after the
 * others. So the gradients that a bucket sends (buckets.c) are contiguous. */
static void set_offsets(Model *model) {
    for (int l = NO_BLOCK; l < model->config.L; l++)
        for (int muon = 0; muon <= 1; muon++)
            for (int i = 0; i < model->tensor_count; i++) {
                Tensor *tensor = &model->tensors[i];
                if (tensor->block != l || tensor->muon != muon) continue;
                tensor->offset = model->weights_size;
                model->weights_size += memory_lines(tensor->size);
            }
}

static void name_tensor(char *name, size_t size, const WeightSpec *spec, int l, bool bias) {
    const char *mark = strstr(spec->name, "%d"), *end = bias ? "bias" : "weight";
    if (mark)
        snprintf(name, size, "%.*s%d%s.%s", (int)(mark - spec->name), spec->name, l, mark + 2, end);
    else
        snprintf(name, size, "%s.%s", spec->name, end);
}

/* Returns the standard deviation of a matrix's initial values. */
static double deviation_of(const WeightSpec *spec, int columns, int L) {
    double deviation = spec->fan_in ? 1 / sqrt(columns) : (double)0.02f;
    return spec->zeros ? 0 : spec->residual ? deviation / sqrt(2.0 * L) : deviation;
}

/* Adds the tensors of one row of the list, in all blocks: its weights or its biases. */
static void add_tensors(Model *model, const WeightSpec *spec, bool bias) {
    const Config *c = &model->config;
    bool matrix = spec->kind != WEIGHT_NORM && !bias;
    int rows = size_of(c, spec->rows), columns = matrix ? size_of(c, spec->columns) : 1;
    for (int l = 0; l < copies_of(spec, c); l++) {
        Tensor *tensor = &model->tensors[model->tensor_count++];
        *tensor = (Tensor){.rank = matrix ? 2 : 1,
                           .shape = {rows, columns},
                           .block = is_in_blocks(spec) ? l : NO_BLOCK,
                           .size = (size_t)rows * (size_t)columns,
                           .start = bias ? 0 : spec->start,
                           .deviation = matrix ? deviation_of(spec, columns, c->L) : 0,
                           .decays = matrix && !spec->no_decay,
                           .muon = matrix && spec->muon,
                           .sparse = spec->sparse};
        name_tensor(tensor->name, sizeof tensor->name, spec, l, bias);
    }
}

void model_bind_weights(const Model *model, char *weights) {
    const Rung *rung = model->rung;
    int next = 0; /* the next tensor */
    for (int i = 0; i < rung->weight_count; i++) {
        const WeightSpec *spec = &rung->weights[i];
        int copies = copies_of(spec, &model->config);
        const int *shape = model->tensors[next].shape;
        for (int l = 0; l < model->config.L; l++) {
            void *member = weights + (size_t)l * rung->weights_size + spec->member;
            int weight = 1 + next + (copies > 1 ? l : 0), bias = spec->bias ? weight + copies : 0;
            switch (spec->kind) {
                case WEIGHT_TABLE: *(Table *)member = (Table){weight, shape[0], shape[1]}; break;
                case WEIGHT_LINEAR:
                    *(Linear *)member = (Linear){weight, bias, shape[1], shape[0]};
                    break;
                case WEIGHT_NORM: *(Norm *)member = (Norm){weight, bias, shape[0]}; break;
            }
        }
        next += spec->bias ? 2 * copies : copies;
    }
}

static void set_start(Model *model, uint64_t seed) {
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        float *w = model->weights + tensor->offset;
        uint64_t key = random_key(seed, RANDOM_WEIGHTS, (uint64_t)i);
        for (size_t j = 0; j < tensor->size; j++)
            w[j] = tensor->deviation > 0 ? (float)(tensor->deviation * random_normal(key, j))
                                         : tensor->start;
    }
}

int model_kv_heads(const Config *config) {
    return size_of(config, SIZE_NKV);
}

int model_hidden(const Config *config) {
    return has_size(find_rung(config->model), SIZE_H) ? size_of(config, SIZE_H) : 1;
}

bool model_lay_out(Model *model, const Config *config, Error *err) {
    *model = (Model){.config = *config};
    if (!model_check(&model->config, err)) return false;
    const double count = model_parameters(&model->config);
    if (!check_count(&model->config, count, err)) return false;
    model->rung = find_rung(config->model);
    model->parameters = (size_t)count;
    size_t max = 2 * (size_t)model->rung->weight_count * (size_t)model->config.L;
    if (!memory_alloc(&model->tensors, max, sizeof *model->tensors, "the model", err)) return false;
    const Rung *rung = model->rung;
    for (int i = 0; i < rung->weight_count; i++) {
        add_tensors(model, &rung->weights[i], false);
        if (rung->weights[i].bias) add_tensors(model, &rung->weights[i], true);
    }
    set_offsets(model);
    return true;
}

bool model_allocate(Model *model, Error *err) {
    const double GiB = 1073741824, bytes = (double)model->weights_size * sizeof(float);
    return memory_alloc(&model->weights, model->weights_size, sizeof(float), "the weights", err) ||
           fail_memory(err, "%s: not enough memory for %.1f GiB of weights; choose %s",
                       model->config.model, bytes / GiB,
                       model_has_width(&model->config) ? "a smaller width or fewer layers"
                                                       : "a text with fewer characters");
}

bool model_build(Model *model, const Config *config, uint64_t seed, Error *err) {
    if (!model_lay_out(model, config, err)) return false;
    if (!model_allocate(model, err)) {
        model_free(model);
        return false;
    }
    set_start(model, seed);
    return true;
}

bool model_has_ngram(const Config *config) {
    return find_rung(config->model)->has_ngram;
}

bool model_has_width(const Config *config) {
    return has_size(find_rung(config->model), SIZE_C);
}

/* Returns how many of the tokens counted so far stay, before those of a new text. */
static size_t tokens_kept(const Model *model, const int32_t *ids, size_t count) {
    const NgramFacts past = ngram_facts(model->ngram);
    const size_t both = min_size(count, past.count);
    if (past.count == 0) return 0;
    if (memcmp(past.ids + past.count - both, ids, both * sizeof *ids) == 0)
        return past.count - both;
    return memcmp(past.ids, ids, both * sizeof *ids) == 0 ? 0 : past.count;
}

bool model_count(Model *model, const int32_t *ids, size_t count, bool folds, Error *err) {
    Ngram *ngram;
    int32_t *all;
    if (!model_has_ngram(&model->config)) return true;
    const size_t kept = tokens_kept(model, ids, count);
    if (!memory_alloc(&all, kept + count, sizeof *all, "the counts", err)) return false;
    if (kept > 0) memcpy(all, ngram_facts(model->ngram).ids, kept * sizeof *all);
    memcpy(all + kept, ids, count * sizeof *all);
    bool ok = ngram_count(&ngram, all, kept + count, folds ? kept : kept + count, MAX_ORDER,
                          model->config.V, err);
    memory_free(all);
    if (!ok) return false;
    ngram_free(model->ngram);
    model->ngram = ngram;
    return true;
}

bool model_fold(const Model *model, const int32_t *ids, size_t count, Ngram **folded, Error *err) {
    const NgramFacts text = ngram_facts(model->ngram);
    *folded = NULL;
    if (!model->ngram) return true;
    return ngram_count(folded, text.ids, text.count, tokens_kept(model, ids, count), MAX_ORDER,
                       model->config.V, err);
}

uint64_t model_digest(const Model *model) {
    Digest digest = digest_start();
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        digest_add(&digest, tensor->name, strlen(tensor->name) + 1);
        digest_add(&digest, model->weights + tensor->offset, tensor->size * sizeof(float));
    }
    const NgramFacts text = ngram_facts(model->ngram);
    if (text.count > 0) digest_add(&digest, text.ids, text.count * sizeof *text.ids);
    return digest_value(&digest);
}

void model_free(Model *model) {
    ngram_free(model->ngram);
    memory_free(model->tensors);
    memory_free(model->weights);
    *model = (Model){0};
}
