/* plain.c - computes a batch sequence by sequence, and takes the mean. */
#include "model/plain/plain_layers.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights and calls ---- */

/* Returns the tensor NAME.kind, or NULL. */
static const Tensor *tensor(const Model *model, const char *name, const char *kind) {
    char whole[sizeof model->tensors->name];
    snprintf(whole, sizeof whole, "%s.%s", name, kind);
    for (int i = 0; i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, whole) == 0) return &model->tensors[i];
    return NULL;
}

Weights plain_weights(const Plain *p, const char *format, ...) {
    char name[48];
    va_list values;
    va_start(values, format);
    vsnprintf(name, sizeof name, format, values);
    va_end(values);
    const Tensor *weight = tensor(p->model, name, "weight"), *bias = tensor(p->model, name, "bias");
    assert(weight);
    Weights w = {.w = p->weights + weight->offset, .dw = p->gradients + weight->offset};
    w.rows = weight->shape[0];
    w.columns = weight->rank == 2 ? weight->shape[1] : 1;
    if (bias) w.b = p->weights + bias->offset;
    if (bias) w.db = p->gradients + bias->offset;
    return w;
}

Array plain_array(Plain *p, int rows, int columns, Call call) {
    size_t size = (size_t)rows * (size_t)columns;
    Call *made = malloc(sizeof *made);
    double *numbers = calloc(2 * size, sizeof *numbers);
    assert(made && numbers);
    call.y = (Array){numbers, numbers + size, rows, columns};
    call.before = p->last;
    *made = call;
    p->last = made;
    return call.y;
}

/* Takes the calls of a sequence from the last to the first, and releases them. */
static void end_sequence(Plain *p, bool backward) {
    while (p->last) {
        Call *call = p->last;
        if (backward && call->backward) call->backward(call);
        p->last = call->before;
        free(call->y.x);
        free(call);
    }
}

/* ---- the ladder ---- */

static PlainRung *rung_of(const char *name) {
    static const struct {
        const char *name;
        PlainRung *rung;
    } ladder[] = {
        {"bigram", plain_bigram},       {"average", plain_average}, {"head", plain_head},
        {"multihead", plain_multihead}, {"gpt", plain_gpt},         {"modern", plain_modern},
        {"conv", plain_conv},           {"ngram", plain_ngram},
    };
    for (size_t i = 0; i < sizeof ladder / sizeof *ladder; i++)
        if (strcmp(ladder[i].name, name) == 0) return ladder[i].rung;
    return NULL;
}

bool plain_knows(const char *rung) {
    return rung_of(rung);
}

void plain_open(Plain *p, const Model *model) {
    *p = (Plain){.model = model};
    const size_t size = model->weights_size;
    p->weights = calloc(size, sizeof *p->weights);
    p->gradients = calloc(size, sizeof *p->gradients);
    assert(p->weights && p->gradients);
    for (size_t i = 0; i < size; i++) p->weights[i] = (double)model->weights[i];
}

void plain_close(Plain *p) {
    free(p->weights);
    free(p->gradients);
}

void plain_logits(Plain *p, const int32_t *ids, int B, int T, double *logits) {
    int V = p->model->config.V;
    for (int b = 0; b < B; b++) {
        Array one = rung_of(p->model->config.model)(p, ids + b * T, T); /* (T, V) */
        memcpy(logits + b * T * V, one.x, (size_t)(T * V) * sizeof *one.x);
        end_sequence(p, false);
    }
}

double plain_loss(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T) {
    double loss = 0;
    for (int b = 0; b < B; b++) {
        Array logits = rung_of(p->model->config.model)(p, ids + b * T, T);
        loss += plain_cross_entropy(logits, targets + b * T) / B;
        end_sequence(p, false);
    }
    return loss;
}

void plain_gradients(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T) {
    const size_t size = p->model->weights_size;
    memset(p->gradients, 0, size * sizeof *p->gradients);
    for (int b = 0; b < B; b++) {
        Array logits = rung_of(p->model->config.model)(p, ids + b * T, T);
        plain_cross_entropy_backward(logits, targets + b * T);
        end_sequence(p, true); /* adds this sequence's gradients */
    }
    for (size_t i = 0; i < size; i++) p->gradients[i] /= B;
}
