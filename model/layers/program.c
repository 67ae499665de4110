/* program.c - records a program. */
#include "model/layers/program.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const Operation gradients_ready = {.name = "gradients_ready", .reach = ALL_TOKENS};

/* Makes room for one more element in a list of `count`; false: no memory. */
static bool grow(Program *p, void *list, int count, int *capacity, size_t size) {
    void *old, *larger;
    if (count < *capacity) return true;
    int wanted = *capacity ? 2 * *capacity : 64;
    if (p->failed || !memory_alloc(&larger, (size_t)wanted, size, "the program", p->err)) {
        p->failed = true;
        return false;
    }
    memcpy(&old, list, sizeof old); /* the caller's pointer, of any type */
    if (old) memcpy(larger, old, (size_t)count * size);
    memory_free(old);
    memcpy(list, &larger, sizeof larger);
    *capacity = wanted;
    return true;
}

static void refuse(Program *p, const char *layer, int tensor, const char *what) {
    if (!p->failed)
        fail(p->err, "the rung '%s' is wrong: %s%s%s: %s", p->model->config.model, layer,
             tensor >= 0 ? " of " : "", tensor >= 0 ? p->model->tensors[tensor].name : "", what);
    p->failed = true;
}

void program_expect_width(Program *p, const char *layer, int tensor, const char *name, Array array,
                          int width) {
    char what[96];
    if (array.width == width) return;
    if (array.width == 0)
        snprintf(what, sizeof what, "%s was not made", name);
    else
        snprintf(what, sizeof what, "%s has %d columns, and not %d", name, array.width, width);
    refuse(p, layer, tensor, what);
}

void program_expect(Program *p, bool holds, const char *layer, const char *demand) {
    if (!holds) refuse(p, layer, -1, demand);
}

static void clear(Program *p, Instruction *instruction, const Operation *operation) {
    *instruction = (Instruction){.operation = operation, .place = NO_DROPOUT, .layer = p->layer};
    for (int i = 0; i < MAX_TENSORS; i++) instruction->tensors[i] = -1;
}

static Instruction *append(Program *p, const Operation *operation) {
    bool grown = grow(p, &p->list, p->count, &p->capacity, sizeof *p->list);
    Instruction *added = grown ? &p->list[p->count++] : &p->spare;
    clear(p, added, operation);
    return added;
}

/* Appends the pending gradients of block l that reduce, or those that do not. Returns how many. */
static int append_some(Program *p, int l, bool reduces) {
    int waiting = 0, all = p->pending_count;
    for (int i = 0; i < all; i++) {
        Instruction gradient = p->pending[i];
        if (gradient.layer == l && gradient.operation->reduces == reduces)
            *append(p, gradient.operation) = gradient;
        else
            p->pending[waiting++] = gradient;
    }
    p->pending_count = waiting;
    return all - waiting;
}

/* Appends the gradients of block l that are pending. Returns how many. */
static int append_pending(Program *p, int l) {
    int sums = append_some(p, l, false);
    return sums + append_some(p, l, true);
}

Instruction *program_add(Program *p, const Operation *operation) {
    /* the team meets here anyway, and what the gradients read may still be in the cache */
    if (p->backward > 0 && operation->reach == ALL_TOKENS)
        p->appended += append_pending(p, p->layer);
    return append(p, operation);
}

Instruction *program_add_gradient(Program *p, const Operation *operation, int tensor) {
    bool grown = grow(p, &p->pending, p->pending_count, &p->pending_capacity, sizeof *p->pending);
    Instruction *added = grown ? &p->pending[p->pending_count++] : &p->spare;
    clear(p, added, operation);
    added->layer = p->model->tensors[tensor].layer;
    return added;
}

Array program_array(Program *p, int width, Rows rows) {
    if (!grow(p, &p->arrays, p->array_count, &p->array_capacity, sizeof *p->arrays))
        return (Array){0, 0, width};
    p->arrays[p->array_count] = (ArrayInfo){.width = width, .rows = rows};
    return (Array){p->array_count++, 0, width};
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

void program_cache(Program *p, Array array) {
    p->arrays[array.id].cached = p->arrays[array.id].kept = true;
}

void program_keep(Program *p, Array array) {
    p->arrays[array.id].kept = true;
}

void program_keep_all(Program *p) {
    for (int id = 1; id < p->array_count; id++) p->arrays[id].kept = !p->arrays[id].fill;
}

const Instruction *program_maker(const Program *p, const Operation *operation, Array made) {
    for (int i = p->count - 1; i >= 0; i--)
        if (p->list[i].operation == operation && p->list[i].outputs[0].id == made.id)
            return &p->list[i];
    assert(p->failed);
    return &p->spare;
}

const Instruction *program_user(const Program *p, const Operation *operation, Array x, int tensor) {
    for (int i = p->count - 1; i >= 0; i--) {
        const Instruction *at = &p->list[i];
        if (at->operation == operation && at->inputs[0].id == x.id && at->tensors[0] == tensor)
            return at;
    }
    assert(p->failed);
    return &p->spare;
}

bool program_open(Program *p, const Model *model, bool training, Error *err) {
    *p = (Program){.model = model, .training = training, .err = err};
    if (!grow(p, &p->arrays, 0, &p->array_capacity, sizeof *p->arrays)) return false;
    p->array_count = 1; /* id 0 is NO_ARRAY */
    return true;
}

/* ---- what a rung calls ---- */

int layers(const Program *p) {
    return p->model->config.L;
}

int heads(Program *p) {
    p->heads_asked = true;
    return p->model->config.NH;
}

int kv_heads(Program *p) {
    p->heads_asked = true;
    return model_kv_heads(&p->model->config);
}

void program_end_block(Program *p, int l) {
    int appended = append_pending(p, l);
    if (l == p->layer) {
        appended += p->appended;
        p->appended = 0;
    }
    if (appended > 0) append(p, &gradients_ready)->layer = l;
}

Program *block_number(Program *p, int l) {
    if (l != p->layer) program_end_block(p, p->layer);
    p->layer = l;
    return p;
}

void program_close(Program *p) {
    memory_free(p->list);
    memory_free(p->arrays);
    memory_free(p->pending);
    *p = (Program){0};
}
