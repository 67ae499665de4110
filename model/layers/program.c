/* program.c - records the calls of layers. */
#include "model/layers/program.h"
#include "base/array.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

bool program_open(Program *p, const Model *model, bool training, Error *err) {
    *p = (Program){.model = model, .training = training, .err = err};
    program_array(p, 0, PER_TOKEN); /* id 0 is NO_ARRAY */
    return !p->failed;
}

void program_close(Program *p) {
    memory_free(p->list);
    memory_free(p->arrays);
    *p = (Program){0};
}

/* ---- calls of a rung ---- */

int blocks(const Program *p) {
    return p->model->config.L;
}

int heads(Program *p) {
    program_expect(p, p->has_heads, "heads", "the rung lacks .has_heads");
    return p->model->config.NH;
}

int kv_heads(Program *p) {
    program_expect(p, p->has_heads, "kv_heads", "the rung lacks .has_heads");
    return model_kv_heads(&p->model->config);
}

Program *begin_block(Program *p, int l) {
    p->block = l;
    return p;
}

/* ---- demands of a layer ---- */

static void reject(Program *p, const char *layer, int tensor, const char *what) {
    if (!p->failed)
        fail(p->err, "the rung '%s' is not valid: %s%s%s: %s", p->model->config.model, layer,
             tensor > 0 ? " of " : "", tensor > 0 ? p->model->tensors[tensor - 1].name : "", what);
    p->failed = true;
}

void program_expect_width(Program *p, const char *layer, int tensor, const char *name, Array array,
                          int width) {
    char what[96];
    if (array.width == width) return;
    if (array.width == 0)
        snprintf(what, sizeof what, "%s was not made", name);
    else
        snprintf(what, sizeof what, "%s has %d columns, not %d", name, array.width, width);
    reject(p, layer, tensor, what);
}

void program_expect(Program *p, bool holds, const char *layer, const char *demand) {
    if (!holds) reject(p, layer, NO_TENSOR, demand);
}

/* ---- at work ---- */

/* In a growing run, first stores the pass's own row. */
const float *rows_before(const Call *c, int number, size_t b, size_t *row) {
    const Pass *pass = c->pass;
    *row = c->in_row[number];
    if (!pass->sequences) return c->in[number] + b * (size_t)pass->T * *row;
    const Continuation *of = &pass->sequences[b];
    size_t width = (size_t)c->instruction->inputs[number].width;
    float *rows = rows_in_slot(pass, c->instruction, number, of->slot);
    memcpy(rows + (size_t)of->past * width, c->in[number] + b * *row, width * sizeof *rows);
    *row = width;
    return rows;
}

/* ---- instructions and arrays ---- */

/* Makes room for one more element in a list of `count`. Returns false without memory. */
static bool grow(Program *p, void *list, int count, int *capacity, size_t size) {
    if (count < *capacity) return true;
    const int wanted = *capacity ? 2 * *capacity : 64;
    p->failed = p->failed ||
                !memory_resize(list, (size_t)count, (size_t)wanted, size, "the program", p->err);
    if (!p->failed) *capacity = wanted;
    return !p->failed;
}

void program_add(Program *p, Instruction made) {
    if (!grow(p, &p->list, p->count, &p->capacity, sizeof *p->list)) return;
    made.block = p->block;
    p->list[p->count++] = made;
}

Array program_array(Program *p, int width, Rows rows) {
    if (!grow(p, &p->arrays, p->array_count, &p->array_capacity, sizeof *p->arrays))
        return (Array){0, 0, width};
    p->arrays[p->array_count] = (ArrayInfo){.width = width, .rows = rows};
    return (Array){p->array_count++, 0, width};
}

Array program_map(Program *p, const Operation *operation, Array x, int width, Instruction made) {
    made.operation = operation;
    made.inputs[0] = x;
    made.outputs[0] = program_array(p, width, PER_TOKEN);
    program_add(p, made);
    return made.outputs[0];
}

Array program_sums(Program *p, int count, int width) {
    Array made = program_array(p, width, PER_PASS);
    if (made.id) p->arrays[made.id].count = count;
    return made;
}

Array program_constants(Program *p, int width, void (*fill)(float *, int, int)) {
    for (int id = 1; id < p->array_count; id++)
        if (p->arrays[id].fill == fill && p->arrays[id].width == width)
            return (Array){id, 0, width};
    Array made = program_array(p, width, PER_POSITION);
    if (made.id) p->arrays[made.id].fill = fill;
    return made;
}

Array program_columns(Array array, int offset, int width) {
    return (Array){array.id, array.offset + offset, width};
}

void program_keep(Program *p, Array array) {
    p->arrays[array.id].kept = true;
}

void program_keep_all(Program *p) {
    for (int id = 1; id < p->array_count; id++) p->arrays[id].kept = !p->arrays[id].fill;
}

static const Instruction *none(Program *p, const Operation *operation) {
    static const Instruction nothing = {.NH = 1};
    reject(p, operation->name, NO_TENSOR, "its forward pass is missing");
    return &nothing;
}

const Instruction *program_maker(Program *p, const Operation *operation, Array made) {
    for (int i = p->count; i-- > 0;)
        if (p->list[i].operation == operation && p->list[i].outputs[0].id == made.id)
            return &p->list[i];
    return none(p, operation);
}

const Instruction *program_user(Program *p, const Operation *operation, Array x, int tensor) {
    for (int i = p->count; i-- > 0;) {
        const Instruction *at = &p->list[i];
        if (at->operation == operation && at->inputs[0].id == x.id && at->tensors[0] == tensor)
            return at;
    }
    return none(p, operation);
}
