/* tape.c - records the passes of a rung. */
#include "model/layers/tape.h"
#include "base/array.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- recording ---- */

/* Makes room for one more element in a list of `count`. Returns false without memory. */
static bool grow(Tape *p, void *list, int count, int *capacity, size_t size) {
    if (count < *capacity) return true;
    const int wanted = *capacity ? 2 * *capacity : 64;
    p->failed =
        p->failed || !memory_resize(list, (size_t)count, (size_t)wanted, size, "the tape", p->err);
    if (!p->failed) *capacity = wanted;
    return !p->failed;
}

static void append(Tape *p, Instruction made) {
    if (grow(p, &p->list, p->count, &p->capacity, sizeof *p->list)) p->list[p->count++] = made;
}

const Operation gradients_ready = {.name = "gradients_ready", .reach = ALL_TOKENS};

/* Adds the waiting gradients of a block's weights, the latest first: its inputs are more likely in
 * the cache. Returns true if there were any. */
static bool add_waiting(Tape *p, int block) {
    const int before = p->count;
    for (int i = p->waiting_count; i-- > 0;) {
        const Instruction at = p->waiting[i];
        if (p->model->tensors[at.tensors[0] - 1].block != block) continue;
        append(p, at);
        p->waiting_count--;
        memmove(&p->waiting[i], &p->waiting[i + 1],
                (size_t)(p->waiting_count - i) * sizeof *p->waiting);
    }
    return p->count > before;
}

/* Adds a block's waiting gradients. Other processes wait for them: marks them as ready if there
 * were any or if the pass leaves the block, whose other gradients are on the tape already. */
static void end_block(Tape *p, int block, bool leaves) {
    if ((add_waiting(p, block) || leaves) && p->shared)
        append(p, (Instruction){.operation = &gradients_ready, .block = block});
}

void tape_end(Tape *p) {
    if (p->failed) return;
    for (int l = p->model->config.L - 1; l >= NO_BLOCK; l--) end_block(p, l, l == p->block);
}

bool tape_open(Tape *p, const Model *model, bool training, int slots, Error *err) {
    *p = (Tape){.model = model, .training = training, .slots = slots, .err = err};
    tape_array(p, 0, PER_TOKEN); /* id 0 is NO_ARRAY */
    return !p->failed;
}

void tape_close(Tape *p) {
    memory_free(p->list);
    memory_free(p->waiting);
    memory_free(p->arrays);
    *p = (Tape){0};
}

/* ---- calls of a rung ---- */

int blocks(const Tape *p) {
    return p->model->config.L;
}

int heads(Tape *p) {
    tape_expect(p, p->has_heads, "heads", "the rung lacks .has_heads");
    return p->model->config.NH;
}

int kv_heads(Tape *p) {
    tape_expect(p, p->has_heads, "kv_heads", "the rung lacks .has_heads");
    return model_kv_heads(&p->model->config);
}

Tape *begin_block(Tape *p, int l) {
    if (p->backward_begin > 0 && !p->failed && l != p->block) end_block(p, p->block, true);
    p->block = l;
    return p;
}

/* ---- demands of a layer ---- */

static void reject(Tape *p, const char *layer, int tensor, const char *what) {
    if (!p->failed)
        fail(p->err, "the rung '%s' is not valid: %s%s%s: %s", p->model->config.model, layer,
             tensor > 0 ? " of " : "", tensor > 0 ? p->model->tensors[tensor - 1].name : "", what);
    p->failed = true;
}

void tape_expect_width(Tape *p, const char *layer, int tensor, const char *name, Array array,
                       int width) {
    char what[96];
    const bool whole = array.id == 0 || p->arrays[array.id].width == array.width;
    if (array.width == width && whole) return;
    if (array.width == 0)
        snprintf(what, sizeof what, "%s was not made", name);
    else if (!whole)
        snprintf(what, sizeof what, "%s is a part of an array", name);
    else
        snprintf(what, sizeof what, "%s has %d columns, not %d", name, array.width, width);
    reject(p, layer, tensor, what);
}

void tape_expect(Tape *p, bool holds, const char *layer, const char *demand) {
    if (!holds) reject(p, layer, NO_TENSOR, demand);
}

/* ---- at work ---- */

const float *cached_rows(const Call *c, int number, int earlier, size_t b, size_t *row) {
    const Pass *pass = c->pass;
    const float *own = c->in[number] + b * (size_t)pass->T * c->in_row[number];
    *row = c->in_row[number];
    if (!pass->sequences) return own;
    assert(c->out[earlier]);
    const DecodeToken *of = &pass->sequences[b];
    float *rows = rows_in_slot(c, earlier, of->slot);
    *row = c->out_row[earlier];
    memcpy(rows + (size_t)of->past * *row, own, *row * sizeof *rows);
    return rows;
}

/* ---- instructions and arrays ---- */

void tape_add(Tape *p, Instruction made) {
    made.block = p->block;
    tape_expect(p, !made.operation->gradient || made.operation->reach == ALL_TOKENS,
                made.operation->name, "its gradients need ALL_TOKENS, because threads share them");
    if (made.operation->gradient) {
        if (grow(p, &p->waiting, p->waiting_count, &p->waiting_capacity, sizeof *p->waiting))
            p->waiting[p->waiting_count++] = made;
        return;
    }
    if (made.operation->reach == ALL_TOKENS && !p->failed) add_waiting(p, p->block);
    append(p, made);
}

Array tape_array(Tape *p, int width, Rows rows) {
    if (!grow(p, &p->arrays, p->array_count, &p->array_capacity, sizeof *p->arrays))
        return (Array){0, 0, width};
    p->arrays[p->array_count] = (ArrayInfo){.width = width, .rows = rows};
    return (Array){p->array_count++, 0, width};
}

Array tape_map(Tape *p, const Operation *operation, Array x, int width, Instruction made) {
    tape_expect_width(p, operation->name, made.tensors[0], "x", x, x.width);
    made.operation = operation;
    made.inputs[0] = x;
    made.outputs[0] = tape_array(p, width, PER_TOKEN);
    tape_add(p, made);
    return made.outputs[0];
}

Array tape_sums(Tape *p, int count, int width) {
    Array made = tape_array(p, width, PER_PASS);
    if (made.id) p->arrays[made.id].count = count;
    return made;
}

Array tape_cache(Tape *p, int width) {
    return p->slots > 0 ? tape_array(p, width, PER_CACHE_SLOT) : NO_ARRAY;
}

Array tape_constants(Tape *p, int width, void (*fill)(float *, int, int)) {
    for (int id = 1; id < p->array_count; id++)
        if (p->arrays[id].fill == fill && p->arrays[id].width == width)
            return (Array){id, 0, width};
    Array made = tape_array(p, width, PER_POSITION);
    if (made.id) p->arrays[made.id].fill = fill;
    return made;
}

Array tape_columns(Array array, int offset, int width) {
    return (Array){array.id, array.offset + offset, width};
}

void tape_keep(Tape *p, Array array) {
    p->arrays[array.id].kept = true;
}

void tape_keep_all(Tape *p) {
    for (int id = 1; id < p->array_count; id++) p->arrays[id].kept = !p->arrays[id].fill;
}

const Instruction *tape_user(Tape *p, const Operation *operation, Array x, int tensor) {
    static const Instruction nothing = {.NH = 1};
    for (int i = p->count; i-- > 0;) {
        const Instruction *at = &p->list[i];
        if (at->operation == operation && at->inputs[0].id == x.id && at->tensors[0] == tensor)
            return at;
    }
    reject(p, operation->name, NO_TENSOR, "its forward pass is missing");
    return &nothing;
}
