/* layer.h - runs layers alone, for benchmarks: a program whose arrays all have memory of their own.
 */
#ifndef TRIL_BENCH_LAYER_H
#define TRIL_BENCH_LAYER_H

#include "base/random.h"
#include "model/layers/program.h"

#include <stdlib.h>

enum { LAYER_ARRAYS = 64, LAYER_WEIGHTS = 2, LAYER_ROWS = 96 };

typedef struct {
    Program program;
    Pass pass;
    float *arrays[LAYER_ARRAYS];
    Param weights[LAYER_WEIGHTS]; /* tensors 1 and 2 */
    int first, end;               /* the instructions that layer_work executes */
} Layer;

/* Returns random numbers [count] around 0, which the caller releases with free. */
static inline float *layer_numbers(size_t count) {
    float *at = aligned_alloc(64, (count * sizeof *at + 63) / 64 * 64);
    if (!at) exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++) at[i] = (float)(random_uniform(1, (uint64_t)i) - 0.5) * 0.1f;
    return at;
}

/* Begins a layer's program for B x T tokens, to be recorded; then layer_allocate gives it memory,
 * and layer_close releases both. */
static inline void layer_open(Layer *l, int B, int T) {
    static const Model nothing = {.config = {.L = 1}};
    static Error err;
    *l = (Layer){.pass = {.B = B, .T = T}};
    if (!program_open(&l->program, &nothing, true, &err)) exit(EXIT_FAILURE);
}

static inline void layer_allocate(Layer *l) {
    const Program *p = &l->program;
    size_t tokens = (size_t)l->pass.B * (size_t)l->pass.T;
    if (p->failed || p->array_count > LAYER_ARRAYS) exit(EXIT_FAILURE);
    for (int id = 1; id < p->array_count; id++)
        l->arrays[id] =
            layer_numbers((tokens + (size_t)p->arrays[id].count) * (size_t)p->arrays[id].width);
}

static inline void layer_close(Layer *l) {
    for (int id = 1; id < l->program.array_count; id++) free(l->arrays[id]);
    program_close(&l->program);
}

static inline void layer_execute(const Layer *l, const Thread *thread, const Instruction *at,
                                 size_t first, size_t count) {
    Call c = {
        .instruction = at, .thread = thread, .pass = &l->pass, .first = first, .N = (int)count};
    for (int i = 0; i < MAX_INPUTS; i++) {
        const ArrayInfo *info = &l->program.arrays[at->inputs[i].id];
        if (!at->inputs[i].id) continue;
        c.in_row[i] = (size_t)info->width;
        c.in[i] = l->arrays[at->inputs[i].id] + at->inputs[i].offset;
        if (info->rows == PER_TOKEN) c.in[i] += first * c.in_row[i];
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        const ArrayInfo *info = &l->program.arrays[at->outputs[i].id];
        if (!at->outputs[i].id) continue;
        c.out_row[i] = (size_t)info->width;
        c.out[i] = l->arrays[at->outputs[i].id] + at->outputs[i].offset;
        c.out[i] += (info->rows == PER_STRETCH ? first / STRETCH : first) * c.out_row[i];
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (at->tensors[i]) c.tensors[i] = l->weights[at->tensors[i] - 1];
    at->operation->compute(&c);
}

/* Executes a layer as the work of a team. `layer` is a Layer. */
static inline void layer_work(const Thread *thread, void *layer) {
    const Layer *l = layer;
    size_t tokens = (size_t)l->pass.B * (size_t)l->pass.T;
    for (int i = l->first; i < l->end; i++) {
        const Instruction *at = &l->program.list[i];
        Share own = team_share(thread, tokens, LAYER_ROWS);
        if (at->operation->reach == ALL_TOKENS) {
            layer_execute(l, thread, at, 0, tokens);
            team_barrier(thread);
            continue;
        }
        for (size_t n = own.begin; n < own.end; n += LAYER_ROWS)
            layer_execute(l, thread, at, n, own.end - n < LAYER_ROWS ? own.end - n : LAYER_ROWS);
    }
}

/* Packs weight 1, [out,in], to weights[0].packed. */
static inline void layer_pack(const Thread *thread, float *packed, const float *w, int in, int out,
                              bool backward) {
    if (backward)
        thread->products->pack(thread, packed, (Matrix){w, (size_t)in, 1}, out, in);
    else
        thread->products->pack(thread, packed, (Matrix){w, 1, (size_t)in}, in, out);
}

#endif
