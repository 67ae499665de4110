/* plain.c - computes a batch sequence by sequence, and takes the mean. */
#include "model/plain/plain.h"
#include "model/plain/layers.h"
#include "model/plain/rungs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    for (int i = 0; i < model->tensor_count; i++) {
        size_t end = model->tensors[i].offset + model->tensors[i].size;
        if (end > p->size) p->size = end;
    }
    p->weights = calloc(p->size, sizeof *p->weights);
    p->gradients = calloc(p->size, sizeof *p->gradients);
    assert(p->weights && p->gradients);
    for (size_t i = 0; i < p->size; i++) p->weights[i] = (double)model->weights[i];
}

void plain_close(Plain *p) {
    free(p->weights);
    free(p->gradients);
}

void plain_logits(Plain *p, const int32_t *ids, int B, int T, double *logits) {
    PlainRung *rung = rung_of(p->model->config.model);
    int V = p->model->config.V;
    for (int b = 0; b < B; b++) {
        Array one = rung(p, ids + b * T, NULL, T); /* (T, V) */
        memcpy(logits + b * T * V, one.x, (size_t)(T * V) * sizeof *one.x);
        plain_release(p);
    }
}

double plain_loss(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T) {
    PlainRung *rung = rung_of(p->model->config.model);
    double loss = 0;
    for (int b = 0; b < B; b++) {
        loss += plain_cross_entropy(rung(p, ids + b * T, NULL, T), targets + b * T) / B;
        plain_release(p);
    }
    return loss;
}

void plain_gradients(Plain *p, const int32_t *ids, const int32_t *targets, int B, int T) {
    PlainRung *rung = rung_of(p->model->config.model);
    memset(p->gradients, 0, p->size * sizeof *p->gradients);
    for (int b = 0; b < B; b++) {
        rung(p, ids + b * T, targets + b * T, T); /* adds this sequence's gradients */
        plain_release(p);
    }
    for (size_t i = 0; i < p->size; i++) p->gradients[i] /= B;
}
