/* memory.c - finds weights by name, and makes arrays. */
#include "model/plain/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

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

/* ---- arrays: a list, the newest first ---- */

struct Memory {
    struct Memory *next;
    double numbers[];
};

Array plain_zeros(Plain *p, int rows, int columns) {
    size_t size = (size_t)rows * (size_t)columns;
    struct Memory *made = calloc(1, sizeof *made + 2 * size * sizeof *made->numbers);
    assert(made);
    made->next = p->memory;
    p->memory = made;
    return (Array){made->numbers, made->numbers + size, rows, columns};
}

void plain_release(Plain *p) {
    while (p->memory) {
        struct Memory *next = p->memory->next;
        free(p->memory);
        p->memory = next;
    }
}
