#include "model/plain/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

/* The tensor NAME.kind, or NULL. */
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

struct Array {
    struct Array *next;
    double numbers[];
};

double *plain_zeros(Plain *p, int rows, int columns) {
    size_t size = (size_t)rows * (size_t)columns;
    struct Array *array = calloc(1, sizeof *array + size * sizeof *array->numbers);
    assert(array);
    array->next = p->arrays;
    p->arrays = array;
    return array->numbers;
}

void plain_release(Plain *p) {
    while (p->arrays) {
        struct Array *next = p->arrays->next;
        free(p->arrays);
        p->arrays = next;
    }
}
