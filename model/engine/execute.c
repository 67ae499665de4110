/* execute.c - the instructions of a program at work. */
#include "model/engine/execute.h"
#include "model/engine/record.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/world.h"

#include <assert.h>

/* ---- memory ---- */

/* Are all numbers that follow from the pass, such as the bytes of all arrays, sizes? With eight
 * bytes in a size_t always; with four, on 32-bit machines, the batch must be small. */
static bool check_count(const Program *p, double tokens, Error *err) {
    const double spare = 4;
    double numbers = 0;
    for (int id = 1; id < p->array_count; id++)
        numbers += p->arrays[id].width * (p->arrays[id].count > 0 ? p->arrays[id].count : tokens);
    if (numbers * sizeof(float) <= (double)SIZE_MAX / spare) return true;
    fail(err, "a pass over %.0f tokens is too large for this machine", tokens);
    err->no_memory = true;
    return false;
}

/* The right operand is w^T, [in,out], forward, and w, [out,in], backward. */
static size_t packed_size(const Executor *x, const Tensor *w) {
    size_t forward = x->products->packed_size(x->isa, w->shape[1], w->shape[0]);
    size_t backward = x->products->packed_size(x->isa, w->shape[0], w->shape[1]);
    return forward > backward ? forward : backward;
}

/* Places the packed copies of the weights. */
static void place_packed(Executor *x) {
    for (int i = 0; i < x->model->tensor_count; i++) x->packed_offsets[i] = SIZE_MAX;
    for (int i = 0; i < x->program.count; i++) {
        int number = x->program.list[i].tensors[0] - 1;
        if (!x->program.list[i].operation->packed || x->packed_offsets[number] != SIZE_MAX)
            continue;
        x->packed_offsets[number] = x->packed_size;
        x->packed_size += memory_lines(packed_size(x, &x->model->tensors[number]));
    }
}

bool execute_plan(Executor *x, bool training, bool kept, size_t tokens, int length, Error *err) {
    const Schedule *s = &x->schedule;
    size_t tensors = (size_t)x->model->tensor_count;
    x->longest_slice = execute_slice(x->products, tokens, x->threads, SLICE_MAX);
    Capacity capacity = {tokens, (size_t)length, (size_t)x->longest_slice};
    if (!memory_alloc(&x->packed_offsets, tensors, sizeof(size_t), "the run", err) ||
        !memory_alloc(&x->params, tensors, sizeof(Param), "the run", err) ||
        !record(&x->program, x->model, training, err) ||
        !check_count(&x->program, (double)tokens, err))
        return false;
    if (kept) program_keep_all(&x->program);
    if (!schedule_open(&x->schedule, &x->program, capacity, err)) return false;
    x->own_size = memory_lines(s->many_own > s->single_own ? s->many_own : s->single_own);
    x->activations_size = s->many_shared + (size_t)x->threads * x->own_size + s->single_shared;
    place_packed(x);
    return true;
}

void execute_close(Executor *x) {
    profile_close(x->profile);
    program_close(&x->program);
    schedule_close(&x->schedule);
    memory_free(x->params);
    memory_free(x->packed_offsets);
    memory_free(x->packed);
    memory_free(x->activations);
    memory_free(x->taken);
}

bool execute_allocate(Executor *x, float *gradients, int length, Error *err) {
    const Program *p = &x->program;
    size_t taken = (size_t)x->schedule.phase_count * (size_t)x->threads;
    if (!memory_alloc(&x->packed, x->packed_size, sizeof(float), "the packed weights", err) ||
        !memory_alloc(&x->activations, x->activations_size, sizeof(float), "the activations",
                      err) ||
        !memory_alloc(&x->taken, taken, sizeof *x->taken, "the threads", err))
        return false;
    x->own = x->activations + x->schedule.many_shared;
    x->single = x->own + (size_t)x->threads * x->own_size;
    for (int i = 0; i < x->model->tensor_count; i++) {
        size_t offset = x->model->tensors[i].offset, packed = x->packed_offsets[i];
        x->params[i] = (Param){.w = x->model->weights + offset,
                               .dw = gradients ? gradients + offset : NULL,
                               .packed = packed == SIZE_MAX ? NULL : x->packed + packed};
    }
    for (int id = 1; id < p->array_count; id++) {
        float *rows = execute_array(x, (Array){id, 0, 0});
        int width = p->arrays[id].width;
        for (int t = 0; t < length && p->arrays[id].fill; t++)
            p->arrays[id].fill(rows + (size_t)t * (size_t)width, t, width);
    }
    return true;
}

size_t execute_scratch(const Executor *x, int length) {
    size_t max = 0;
    for (int i = 0; i < x->program.count; i++) {
        const Instruction *at = &x->program.list[i];
        if (!at->operation->scratch) continue;
        size_t size = at->operation->scratch(at, x->isa, x->products, length);
        if (size > max) max = size;
    }
    return max;
}

/* A pointer to the columns of an array at the row of token `first`; PER_STRETCH: at the row of its
 * stretch. */
static float *locate(const Executor *x, const Location *locations, Array array, int thread,
                     size_t first) {
    const ArrayInfo *info = &x->program.arrays[array.id];
    const Location *at = &locations[array.id];
    if (at->where == OWN) return x->own + (size_t)thread * x->own_size + at->offset + array.offset;
    if (at->where == SINGLE) return x->single + at->offset + array.offset;
    size_t row = info->rows == PER_TOKEN     ? first + (at->cached ? (size_t)x->pass.past : 0)
                 : info->rows == PER_STRETCH ? first / STRETCH
                                             : 0;
    return x->activations + at->offset + row * (size_t)info->width + array.offset;
}

float *execute_array(const Executor *x, Array array) {
    return locate(x, x->schedule.many, array, 0, 0);
}

/* ---- slices of tokens ---- */

/* The longest of the lengths with which the slowest thread has the fewest tiles. */
int execute_slice(const Products *products, size_t tokens, int threads, int most) {
    enum { TILE = 6 };  /* rows of a register tile, with most instruction sets */
    enum { TILES = 2 }; /* of AMX: the fewer, the more of a phase stays in the L2 cache */
    size_t tile = products->rows ? (size_t)products->rows : TILE, least = SIZE_MAX;
    size_t grain = products->rows ? (size_t)products->rows : STRETCH, best = grain;
    size_t max = products->rows ? TILES * tile : SLICE_MAX;
    if (max > (size_t)most) max = (size_t)most;
    assert(grain % STRETCH == 0 && max >= grain);
    for (size_t length = grain; length <= max && length < tokens + grain; length += grain) {
        size_t slices = (tokens + length - 1) / length, team = (size_t)threads;
        size_t tiles = (slices + team - 1) / team * ((length + tile - 1) / tile);
        if (tiles > least) continue;
        least = tiles;
        best = length;
    }
    return (int)best;
}

static int tokens_in(const Executor *x) {
    return x->pass.B * x->pass.T;
}

int execute_slices(const Executor *x) {
    return (tokens_in(x) + x->slice - 1) / x->slice;
}

bool execute_own_slice(const Executor *x, const Thread *thread, int i, Slice *slice) {
    size_t length = (size_t)x->slice;
    Share own = team_share(thread, (size_t)tokens_in(x), length);
    size_t first = own.begin + (size_t)i * length;
    if (first >= own.end) return false;
    *slice = (Slice){first, (int)(own.end - first < length ? own.end - first : length)};
    return true;
}

/* Sets *slice to the next one that the thread takes in the phase; false if there are no more. The
 * team takes all tokens at once. */
static bool next_slice(const Executor *x, const Phase *phase, Items *slices, Slice *slice) {
    size_t i;
    if (phase->team) {
        *slice = (Slice){0, tokens_in(x)};
        return slices->own_taken++ == 0;
    }
    if (!team_next(slices, &i)) return false;
    slice->first = i * (size_t)x->slice;
    slice->count = min_int(x->slice, tokens_in(x) - (int)slice->first);
    return true;
}

/* ---- a pass ---- */

static Call call_of(const Executor *x, const Thread *thread, const Instruction *at,
                    const Location *locations, Slice tokens, atomic_int *taken) {
    const ArrayInfo *arrays = x->program.arrays;
    Call call = {.instruction = at,
                 .thread = thread,
                 .pass = &x->pass,
                 .first = tokens.first,
                 .N = tokens.count,
                 .taken = taken};
    for (int i = 0; i < MAX_INPUTS; i++) {
        if (!at->inputs[i].id) continue;
        call.in[i] = locate(x, locations, at->inputs[i], thread->index, tokens.first);
        call.in_row[i] = (size_t)arrays[at->inputs[i].id].width;
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (!at->outputs[i].id) continue;
        call.out[i] = locate(x, locations, at->outputs[i], thread->index, tokens.first);
        call.out_row[i] = (size_t)arrays[at->outputs[i].id].width;
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (at->tensors[i]) call.tensors[i] = x->params[at->tensors[i] - 1];
    return call;
}

Call execute_call(const Executor *x, const Thread *thread, const Instruction *at, Slice tokens) {
    return call_of(x, thread, at, x->schedule.many, tokens, NULL);
}

void execute_begin(Executor *x, int threads, bool backward) {
    x->backward = backward;
    if (!backward)
        x->slice = execute_slice(x->products, (size_t)tokens_in(x), threads, x->longest_slice);
    for (int i = 0; i < x->schedule.phase_count * x->threads; i++)
        atomic_store_explicit(&x->taken[i], 0, memory_order_relaxed);
}

void execute_packing(const Thread *thread, void *executor) {
    const Executor *x = executor;
    double start = profile_now(x->profile);
    for (int i = 0; i < x->model->tensor_count; i++) {
        const Tensor *w = &x->model->tensors[i];
        if (x->packed_offsets[i] == SIZE_MAX) continue;
        float *packed = x->packed + x->packed_offsets[i];
        int out = w->shape[0], in = w->shape[1];
        Matrix plain = {x->params[i].w, (size_t)in, 1},
               transposed = {x->params[i].w, 1, (size_t)in};
        if (x->backward)
            x->products->pack(thread, packed, plain, out, in);
        else
            x->products->pack(thread, packed, transposed, in, out);
    }
    start = profile_add(x->profile, thread, PROFILE_PACKING, start);
    team_barrier(thread);
    profile_add(x->profile, thread, PROFILE_WAITING, start);
}

/* All threads execute every instruction together. */
static void execute_token(const Executor *x, const Thread *thread) {
    const Schedule *s = &x->schedule;
    for (int i = 0; i < x->program.backward; i++) {
        const Instruction *at = &x->program.list[i];
        if (s->waits[i]) team_barrier(thread);
        if (s->by_first[i] && thread->index > 0) continue;
        Call call = call_of(x, thread, at, s->single, (Slice){0, 1}, NULL);
        at->operation->compute(&call);
    }
}

/* Each phase: one slice after another through all its instructions. Ready gradients begin to be
 * sent while the pass continues. */
void execute_pass(const Thread *thread, void *executor) {
    const Executor *x = executor;
    const Schedule *s = &x->schedule;
    const Phase *begin = s->phases + (x->backward ? s->backward : 0);
    const Phase *end = s->phases + (x->backward ? s->phase_count : s->backward);
    if (!x->frozen) execute_packing(thread, executor);
    if (x->pass.single && thread->count > 1) {
        execute_token(x, thread);
        return;
    }
    for (const Phase *phase = begin; phase < end; phase++) {
        const Instruction *first = &x->program.list[phase->begin];
        atomic_int *taken = x->taken + (phase - s->phases) * x->threads;
        double start = profile_now(x->profile);
        if (phase->barrier) team_barrier(thread);
        start = profile_add(x->profile, thread, PROFILE_WAITING, start);
        if (first->operation == &gradients_ready) {
            if (x->buckets && thread->index == 0) buckets_send(x->buckets, first->block);
            continue;
        }
        Items slices = team_items(thread, (size_t)execute_slices(x), phase->any ? taken : NULL);
        for (Slice slice; next_slice(x, phase, &slices, &slice);) {
            for (int i = phase->begin; i < phase->end; i++) {
                Call call = call_of(x, thread, &x->program.list[i], s->many, slice,
                                    phase->team ? taken : NULL);
                call.instruction->operation->compute(&call);
                start = profile_add(x->profile, thread, i, start);
            }
            if (x->buckets && thread->index == 0) world_progress();
        }
    }
}
