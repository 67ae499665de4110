/* model.c - the ladder, and how a rung's table of tensors becomes a model. */
#include "model/run.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Rung *const ladder[] = {&bigram_rung,    &average_rung, &head_rung,
                                     &multihead_rung, &gpt_rung,     &modern_rung};

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

_Static_assert(sizeof(size_t) >= 8, "products of three sizes are counted in a size_t");

int size_of(const Config *c, Size size) {
    switch (size) {
        case SIZE_NONE:
        case SIZE_1: return 1;
        case SIZE_V: return c->V;
        case SIZE_T: return c->T;
        case SIZE_L: return c->L;
        case SIZE_NH: return c->NH;
        case SIZE_C: return c->C;
        case SIZE_2C: return 2 * c->C;
        case SIZE_3C: return 3 * c->C;
        case SIZE_4C: return 4 * c->C;
        case SIZE_HS: return c->C / c->NH;
        case SIZE_8C_3: return (8 * c->C + 95) / 96 * 32;
    }
    return 0;
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
    if (!(*rung)->has_width) c->C = 1;
    if (!(*rung)->has_heads) c->NH = 1;
    if (!(*rung)->has_layers) c->L = 1;
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
    if ((*rung)->rotary && c->C / c->NH % 2 != 0)
        return fail(err,
                    "heads of %d channels each cannot be turned in pairs: an even number is "
                    "needed, of a width of %d with %d heads",
                    c->C / c->NH, c->C, c->NH);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return fail(err, "a dropout of %g is not between 0 and 1", c->dropout);
    return true;
}

/* Every tensor's place: those of no layer first, then layer by layer, what Muon trains behind the
 * rest. So what a layer learns lies side by side, and is sent as a whole (buckets.c). */
static void place(Model *model) {
    enum { GROUPS = 2 };
    for (int l = -1; l < model->config.L; l++)
        for (int group = 0; group < GROUPS; group++)
            for (int i = 0; i < model->tensor_count; i++) {
                Tensor *tensor = &model->tensors[i];
                if (tensor->layer != l || !(tensor->flags & MUON) != !group) continue;
                tensor->offset = model->room;
                model->room += (tensor->size + 15) / 16 * 16; /* whole cache lines */
            }
}

static void lay_out(Model *model) {
    const Rung *rung = model->rung;
    const Config *c = &model->config;
    for (int i = 0; i < rung->tensor_count; i++) {
        const TensorSpec *spec = &rung->tensors[i];
        int copies = spec->flags & EVERY_LAYER ? c->L : 1;
        for (int l = 0; l < copies; l++) {
            Tensor *tensor = &model->tensors[model->tensor_count++];
            /* Only a name that stands in every layer has a %d. */
            const char *mark = strstr(spec->name, "%d");
            if (mark)
                snprintf(tensor->name, sizeof tensor->name, "%.*s%d%s", (int)(mark - spec->name),
                         spec->name, l, mark + 2);
            else
                snprintf(tensor->name, sizeof tensor->name, "%s", spec->name);
            tensor->rank = spec->shape[1] == SIZE_NONE ? 1 : 2;
            tensor->shape[0] = size_of(c, spec->shape[0]);
            tensor->shape[1] = size_of(c, spec->shape[1]);
            tensor->size = (size_t)tensor->shape[0] * (size_t)tensor->shape[1];
            tensor->flags = spec->flags;
            tensor->layer = spec->flags & EVERY_LAYER ? l : -1;
            model->parameters += tensor->size;
        }
    }
    place(model);
}

static void set_start(Model *model, uint64_t seed) {
    const Rung *rung = model->rung;
    uint64_t number = 0;
    for (int i = 0; i < rung->tensor_count; i++) {
        const TensorSpec *spec = &rung->tensors[i];
        double deviation = (double)spec->deviation;
        if (spec->flags & FAN_IN) deviation /= sqrt(size_of(&model->config, spec->shape[1]));
        if (spec->flags & RESIDUAL) deviation /= sqrt(2.0 * model->config.L);
        int copies = spec->flags & EVERY_LAYER ? model->config.L : 1;
        for (int l = 0; l < copies; l++, number++) {
            const Tensor *tensor = &model->tensors[number];
            float *w = model->weights + tensor->offset;
            uint64_t key = random_key(seed, RANDOM_WEIGHTS, number);
            for (size_t j = 0; j < tensor->size; j++)
                w[j] =
                    deviation > 0
                        ? (float)((double)spec->start + deviation * random_normal(key, (uint64_t)j))
                        : spec->start;
        }
    }
}

bool model_check(const Config *config, Error *err) {
    Config copy = *config;
    const Rung *rung;
    return check(&copy, &rung, err);
}

bool model_lay_out(Model *model, const Config *config, Error *err) {
    *model = (Model){.config = *config};
    if (!check(&model->config, &model->rung, err)) return false;
    size_t most = (size_t)model->rung->tensor_count * (size_t)model->config.L;
    if (!memory_alloc(&model->tensors, most, sizeof *model->tensors, "the model", err))
        return false;
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

bool model_make_room(Model *model, Error *err) {
    return memory_alloc(&model->weights, model->room, sizeof(float), "the model's weights", err);
}

bool model_build(Model *model, const Config *config, uint64_t seed, Error *err) {
    if (!model_lay_out(model, config, err)) return false;
    if (!model_make_room(model, err)) {
        model_free(model);
        return false;
    }
    set_start(model, seed);
    return true;
}

void model_free(Model *model) {
    memory_free(model->tensors);
    memory_free(model->weights);
    *model = (Model){0};
}
