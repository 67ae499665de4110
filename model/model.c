/* model.c - the ladder, and how a rung's list of weights becomes a model. */
#include "model/rungs/ladder.h"
#include "model/rungs/rung.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DECLARE(name) extern const Rung name##_rung;
#define ADDRESS(name) &name##_rung,
LADDER(DECLARE)
static const Rung *const ladder[] = {LADDER(ADDRESS)};

const char *model_name(int i) {
    return i >= 0 && i < COUNT(ladder) ? ladder[i]->name : NULL;
}

static const Rung *find_rung(const char *name) {
    for (int i = 0; i < COUNT(ladder); i++)
        if (strcmp(ladder[i]->name, name) == 0) return ladder[i];
    return NULL;
}

const char *model_idea(const char *name) {
    const Rung *rung = find_rung(name);
    return rung ? rung->idea : NULL;
}

static int kv_heads_of(const Config *c) {
    return c->NKV > 0 ? c->NKV : c->NH;
}

int size_of(const Config *c, Size size) {
    switch (size) {
        case SIZE_NONE: return 1;
        case SIZE_4: return 4;
        case SIZE_V: return c->V;
        case SIZE_T: return c->T;
        case SIZE_L: return c->L;
        case SIZE_NH: return c->NH;
        case SIZE_C: return c->C;
        case SIZE_3C: return 3 * c->C;
        case SIZE_4C: return 4 * c->C;
        case SIZE_HS: return c->C / c->NH;
        case SIZE_NKV: return kv_heads_of(c);
        case SIZE_KV: return kv_heads_of(c) * (c->C / c->NH);
        case SIZE_H: return c->H > 0 ? c->H : (8 * c->C + 95) / 96 * 32;
    }
    return 0;
}

/* Only the name of a weight that each block has contains a %d. */
static bool is_in_blocks(const WeightSpec *spec) {
    return strstr(spec->name, "%d");
}

static bool has_blocks(const Rung *rung) {
    bool has = false;
    for (int i = 0; i < rung->weight_count; i++) has = has || is_in_blocks(&rung->weights[i]);
    return has;
}

/* Does the size of any weight depend on C? */
static bool has_width(const Rung *rung) {
    const Config one = {.V = 1, .T = 1, .L = 1, .NH = 1, .C = 1};
    const Config wide = {.V = 1, .T = 1, .L = 1, .NH = 1, .C = 64};
    bool has = false;
    for (int i = 0; i < rung->weight_count; i++)
        has = has ||
              size_of(&one, rung->weights[i].rows) != size_of(&wide, rung->weights[i].rows) ||
              size_of(&one, rung->weights[i].columns) != size_of(&wide, rung->weights[i].columns);
    return has;
}

static bool has_size(const Rung *rung, Size size) {
    for (int i = 0; i < rung->weight_count; i++)
        if (rung->weights[i].rows == size || rung->weights[i].columns == size) return true;
    return false;
}

/* Checks NKV and H, and sets them to 0 where they are what 0 stands for or the rung has no such
 * size. */
static bool check_own(Config *c, const Rung *rung, Error *err) {
    Config usual = *c;
    usual.NKV = usual.H = 0;
    if (!has_size(rung, SIZE_KV) || c->NKV == c->NH) c->NKV = 0;
    if (!has_size(rung, SIZE_H) || c->H == size_of(&usual, SIZE_H)) c->H = 0;
    if (c->NKV < 0 || (c->NKV > 0 && c->NH % c->NKV != 0))
        return fail(err, "%d heads of keys and values do not divide %d heads", c->NKV, c->NH);
    if (c->H < 0 || c->H > MAX_WIDTH)
        return fail(err, "%d channels inside the MLP are not between 1 and %d", c->H, MAX_WIDTH);
    return true;
}

static bool check(Config *c, const Rung **rung, Error *err) {
    *rung = find_rung(c->model);
    if (!*rung) {
        char names[128] = "";
        for (int i = 0; i < COUNT(ladder); i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", ladder[i]->name);
        }
        return fail(err, "there is no model '%s'; there are %s", c->model, names);
    }
    if (!has_width(*rung)) c->C = 1;
    if (!(*rung)->has_heads) c->NH = 1;
    if (!has_blocks(*rung)) c->L = 1;
    if (c->V < 1 || c->V > MAX_VOCABULARY)
        return fail(err, "a vocabulary of %d is not between 1 and %d", c->V, MAX_VOCABULARY);
    if (c->T < 1 || c->T > MAX_CONTEXT)
        return fail(err, "a context of %d is not between 1 and %d", c->T, MAX_CONTEXT);
    if (c->L < 1 || c->L > MAX_LAYERS)
        return fail(err, "%d layers are not between 1 and %d", c->L, MAX_LAYERS);
    if (c->C < 1 || c->C > MAX_WIDTH)
        return fail(err, "a width of %d is not between 1 and %d", c->C, MAX_WIDTH);
    if (c->NH < 1 || c->C % c->NH != 0)
        return fail(err, "%d heads do not divide a width of %d", c->NH, c->C);
    if ((*rung)->even_heads && c->C / c->NH % 2 != 0)
        return fail(err,
                    "heads of %d channels each cannot be turned in pairs: an even number is "
                    "needed, of a width of %d with %d heads",
                    c->C / c->NH, c->C, c->NH);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return fail(err, "a dropout of %g is not between 0 and 1", c->dropout);
    return check_own(c, *rung, err);
}

/* Are all numbers that follow from the weights, such as the bytes of their moments, sizes? With
 * eight bytes in a size_t always; with four, on 32-bit machines, the weights must be few. */
static bool check_count(const Model *model, Error *err) {
    const double spare = 16;
    const Rung *rung = model->rung;
    const Config *c = &model->config;
    double count = 0;
    for (int i = 0; i < rung->weight_count; i++) {
        const WeightSpec *spec = &rung->weights[i];
        count += (double)(is_in_blocks(spec) ? c->L : 1) * size_of(c, spec->rows) *
                 (1.0 + (spec->kind == WEIGHT_NORM ? 0 : size_of(c, spec->columns)));
    }
    if (count * sizeof(float) <= (double)SIZE_MAX / spare) return true;
    fail(err, "a %s of these sizes has %.0f million weights, too many for this machine", c->model,
         count / 1e6);
    err->no_memory = true;
    return false;
}

/* Sets every tensor's offset: those of no layer first, then layer by layer, Muon's after the
 * others. So the gradients of a layer are contiguous and are sent as a whole (buckets.c). */
static void set_offsets(Model *model) {
    enum { GROUPS = 2 };
    for (int l = -1; l < model->config.L; l++)
        for (int group = 0; group < GROUPS; group++)
            for (int i = 0; i < model->tensor_count; i++) {
                Tensor *tensor = &model->tensors[i];
                if (tensor->layer != l || !(tensor->flags & MUON) != !group) continue;
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

/* The tensors of one row of the list, in all blocks: its weights or its biases. */
static void add_tensors(Model *model, const WeightSpec *spec, bool bias) {
    const Config *c = &model->config;
    bool matrix = spec->kind != WEIGHT_NORM && !bias;
    int rows = size_of(c, spec->rows), columns = matrix ? size_of(c, spec->columns) : 1;
    unsigned flags = spec->flags & ~(unsigned)(DECAYS | NO_DECAY);
    if (matrix && !(spec->flags & NO_DECAY)) flags |= DECAYS;
    if (!matrix) flags &= ~(unsigned)MUON;
    for (int l = 0; l < (is_in_blocks(spec) ? c->L : 1); l++) {
        Tensor *tensor = &model->tensors[model->tensor_count++];
        name_tensor(tensor->name, sizeof tensor->name, spec, l, bias);
        tensor->rank = matrix ? 2 : 1;
        tensor->shape[0] = rows;
        tensor->shape[1] = columns;
        tensor->size = (size_t)rows * (size_t)columns;
        tensor->flags = flags;
        tensor->layer = is_in_blocks(spec) ? l : -1;
        model->parameters += tensor->size;
    }
}

static void lay_out(Model *model) {
    const Rung *rung = model->rung;
    for (int i = 0; i < rung->weight_count; i++) {
        add_tensors(model, &rung->weights[i], false);
        if (rung->weights[i].flags & BIAS) add_tensors(model, &rung->weights[i], true);
    }
    set_offsets(model);
}

/* The standard deviation of a matrix's initial values. */
static double deviation_of(const WeightSpec *spec, const Tensor *tensor, int L) {
    if (tensor->rank == 1 || spec->flags & ZEROS) return 0;
    double deviation = spec->flags & FAN_IN ? 1 / sqrt(tensor->shape[1]) : (double)0.02f;
    return spec->flags & RESIDUAL ? deviation / sqrt(2.0 * L) : deviation;
}

static void set_start(Model *model, uint64_t seed) {
    const Rung *rung = model->rung;
    int number = 0;
    for (int i = 0; i < rung->weight_count; i++) {
        const WeightSpec *spec = &rung->weights[i];
        int copies = is_in_blocks(spec) ? model->config.L : 1;
        int end = number + (spec->flags & BIAS ? 2 * copies : copies), biases = number + copies;
        for (; number < end; number++) {
            const Tensor *tensor = &model->tensors[number];
            float *w = model->weights + tensor->offset;
            float start = number < biases ? spec->start : 0;
            double deviation = deviation_of(spec, tensor, model->config.L);
            uint64_t key = random_key(seed, RANDOM_WEIGHTS, (uint64_t)number);
            for (size_t j = 0; j < tensor->size; j++)
                w[j] = deviation > 0 ? (float)(deviation * random_normal(key, j)) : start;
        }
    }
}

bool model_check(const Config *config, Error *err) {
    Config copy = *config;
    const Rung *rung;
    return check(&copy, &rung, err);
}

int model_kv_heads(const Config *config) {
    return size_of(config, SIZE_NKV);
}

int model_hidden(const Config *config) {
    return has_size(find_rung(config->model), SIZE_H) ? size_of(config, SIZE_H) : 1;
}

bool model_lay_out(Model *model, const Config *config, Error *err) {
    *model = (Model){.config = *config};
    if (!check(&model->config, &model->rung, err) || !check_count(model, err)) return false;
    size_t max = 2 * (size_t)model->rung->weight_count * (size_t)model->config.L;
    if (!memory_alloc(&model->tensors, max, sizeof *model->tensors, "the model", err)) return false;
    lay_out(model);
    return true;
}

size_t model_parameters(const Config *config) {
    Model model;
    Error none;
    if (!model_lay_out(&model, config, &none)) return 0;
    size_t parameters = model.parameters;
    model_free(&model);
    return parameters;
}

bool model_allocate(Model *model, Error *err) {
    return memory_alloc(&model->weights, model->weights_size, sizeof(float), "the model's weights",
                        err);
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

uint64_t model_digest(const Model *model) {
    Digest digest = digest_start();
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        digest_add(&digest, tensor->name, strlen(tensor->name) + 1);
        digest_add(&digest, model->weights + tensor->offset, tensor->size * sizeof(float));
    }
    return digest_value(&digest);
}

void model_free(Model *model) {
    memory_free(model->tensors);
    memory_free(model->weights);
    *model = (Model){0};
}
