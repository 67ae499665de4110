/* execute.c - the instructions of a tape at work. */
#include "model/engine/inside.h"
#include "base/array.h"
#include "base/world.h"

#include <assert.h>

/* ---- slices of tokens ---- */

int slice_length(const Products *products, size_t tokens, int threads) {
    enum { TILE = 6 };  /* rows of a register tile, with most instruction sets */
    enum { TILES = 2 }; /* with AMX: the fewer, the more of a phase stays in the L2 cache */
    size_t tile = products->rows ? (size_t)products->rows : TILE, least = SIZE_MAX;
    size_t grain = products->rows ? (size_t)products->rows : STRETCH, best = grain;
    size_t max = products->rows ? TILES * tile : SLICE_MAX;
    assert(grain % STRETCH == 0 && max >= grain);
    for (size_t length = grain; length <= max && length < tokens + grain; length += grain) {
        size_t slices = ceil_div(tokens, length);
        size_t tiles = ceil_div(slices, (size_t)threads) * ceil_div(length, tile);
        if (tiles > least) continue;
        least = tiles;
        best = length;
    }
    return (int)best;
}

int slice_count(const Run *run) {
    return ceil_div_int((int)run->pass.tokens, run->slice);
}

Share share_of_tokens(const Run *run, const Thread *thread) {
    return team_share(thread, run->pass.tokens, (size_t)run->slice);
}

/* Returns the tokens of slice i. */
static Share slice_at(const Run *run, size_t i) {
    const size_t length = (size_t)run->slice, begin = i * length;
    return (Share){begin, min_size(begin + length, run->pass.tokens)};
}

/* ---- a pass ---- */

/* Returns the floats before the row of token `first` of an array, or of its stretch. */
static size_t row_offset(const Run *run, int array, size_t first) {
    const ArrayInfo *info = &run->tape.arrays[array];
    size_t row = info->rows == PER_TOKEN ? first : info->rows == PER_STRETCH ? first / STRETCH : 0;
    return row * (size_t)info->width;
}

/* Returns the operands of instruction i for the thread and these tokens. */
static Call call_of(const Run *run, int i, const Thread *thread, Share tokens) {
    Call call = run->calls[i];
    call.thread = thread;
    call.first = tokens.begin;
    call.N = (int)(tokens.end - tokens.begin);
    if (tokens.begin == 0) return call;
    for (int j = 0; j < MAX_INPUTS; j++)
        if (call.in[j]) call.in[j] += row_offset(run, call.instruction->inputs[j].id, call.first);
    for (int j = 0; j < MAX_OUTPUTS; j++)
        if (call.out[j])
            call.out[j] += row_offset(run, call.instruction->outputs[j].id, call.first);
    return call;
}

void execute_packing(const Thread *thread, void *argument) {
    const Run *run = argument;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *w = &run->model->tensors[i];
        if (run->packed_offsets[i] == NOT_PACKED) continue;
        float *packed = run->packed + run->packed_offsets[i];
        int out = w->shape[0], in = w->shape[1];
        const float *plain = run->params[i].w;
        if (run->in_backward)
            run->products->pack(thread, packed, (Matrix){plain, (size_t)in, 1}, out, in);
        else
            run->products->pack(thread, packed, (Matrix){plain, 1, (size_t)in}, in, out);
    }
    team_barrier(thread);
}

/* Executes a decoding run's pass that is one slice, without phases. */
static void execute_slice(Run *run, const Thread *thread) {
    for (Call *call = run->calls; call < run->calls + run->tape.backward_begin; call++) {
        call->thread = thread;
        call->N = (int)run->pass.tokens;
        call->instruction->operation->compute(call);
    }
}

/* Executes the calls of a phase for some tokens. Returns the time at the end of the last, if the
 * time was `start` before the first. */
static double execute_calls(const Run *run, const Phase *phase, const Thread *thread, Share tokens,
                            atomic_int *taken, double start) {
    for (int i = phase->begin; i < phase->end; i++) {
        Call call = call_of(run, i, thread, tokens);
        call.taken = taken;
        call.instruction->operation->compute(&call);
        start = profile_add(run, thread, i, start);
    }
    return start;
}

/* In each phase of slices a thread takes one after another through all instructions. Gradients are
 * sent as soon as they are ready, while the pass continues. */
static void execute_phases(const Thread *thread, void *argument) {
    Run *run = argument;
    const Schedule *s = &run->schedule;
    const Phase *begin = s->phases + (run->in_backward ? s->backward_phase : 0);
    const Phase *end = s->phases + (run->in_backward ? s->phase_count : s->backward_phase);
    const bool sends = run->buckets && thread->index == 0;
    if (run->options.training) execute_packing(thread, argument);
    if (run->pass.sequences && slice_count(run) == 1) {
        execute_slice(run, thread);
        return;
    }
    for (const Phase *phase = begin; phase < end; phase++) {
        const Instruction *first = &run->tape.list[phase->begin];
        atomic_int *taken =
            thread->count > 1 ? run->taken + (phase - s->phases) * run->options.threads : NULL;
        if (phase->barrier) team_barrier(thread);
        if (first->operation == &gradients_ready) {
            if (sends) buckets_send(run->buckets, first->block);
        } else if (phase->team) {
            execute_calls(run, phase, thread, (Share){0, run->pass.tokens}, taken,
                          profile_now(run));
            if (sends) world_progress();
        } else {
            Items slices =
                team_items(thread, (size_t)slice_count(run), phase->steals ? taken : NULL);
            double start = profile_now(run);
            for (size_t i; team_next(&slices, &i);) {
                start = execute_calls(run, phase, thread, slice_at(run, i), NULL, start);
                if (sends) world_progress();
            }
        }
    }
}

void execute_pass(Run *run, bool backward) {
    run->in_backward = backward;
    for (int i = 0; run->threads > 1 && i < run->schedule.phase_count * run->options.threads; i++)
        atomic_store_explicit(&run->taken[i], 0, memory_order_relaxed);
    team_run(run->team, run->threads, execute_phases, run);
}
