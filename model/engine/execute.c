/* execute.c - from a rung to a tape, and its instructions at work. */
#include "model/engine/inside.h"
#include "model/rungs/rung.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/world.h"

#include <assert.h>

/* ---- recording ---- */

/* Returns true if each member of the rung's Weights has a row in its list. */
static bool lists_all(const Rung *rung) {
    static const size_t sizes[] = {[WEIGHT_TABLE] = sizeof(Table),
                                   [WEIGHT_LINEAR] = sizeof(Linear),
                                   [WEIGHT_NORM] = sizeof(Norm)};
    size_t listed = 0;
    for (int i = 0; i < rung->weight_count; i++) listed += sizes[rung->weights[i].kind];
    return listed == rung->weights_size;
}

static void record_passes(Tape *p, void *weights, void *activations) {
    const Rung *rung = p->model->rung;
    tape_expect(p, lists_all(rung), "Weights", "not every member has a row in the list");
    model_bind_weights(p->model, weights);
    p->has_heads = rung->has_heads;
    p->logits = rung->forward(p, weights, activations);
    tape_keep(p, p->logits);
    tape_expect_width(p, "forward", NO_TENSOR, "its result", p->logits, p->model->config.V);
    p->backward_begin = p->count;
    if (!p->training || p->failed) return;
    const Array dlogits =
        tape_map(p, &cross_entropy_backward, p->logits, p->logits.width, (Instruction){0});
    rung->backward(p, weights, activations, dlogits);
    tape_end(p);
}

bool tape_record_rung(Tape *p, const Model *model, const RunOptions *options, Error *err) {
    const size_t L = (size_t)model->config.L;
    char *weights = NULL, *activations = NULL;
    if (!tape_open(p, model, options->training, options->slots, err)) return false;
    p->dropout = options->dropout;
    p->shared = options->shared;
    if (memory_alloc(&weights, L, model->rung->weights_size, "the tape", err) &&
        memory_alloc(&activations, L, model->rung->activations_size, "the tape", err))
        record_passes(p, weights, activations);
    else
        p->failed = true;
    memory_free(weights);
    memory_free(activations);
    if (p->failed) {
        tape_close(p);
        return false;
    }
    if (options->kept) tape_keep_all(p);
    return true;
}

/* ---- memory ---- */

/* Checks that all sizes that follow from the pass, such as the bytes of all arrays, fit a size_t.
 * With eight bytes they always do; with four, the batch must be small. */
static bool check_count(const Tape *p, const RunOptions *o, double tokens, Error *err) {
    const double spare = 4, kept = (double)o->slots * (o->length + KEY_GROUP);
    double numbers = 0;
    for (int id = 1; id < p->array_count; id++) {
        const ArrayInfo *info = &p->arrays[id];
        const double rows = info->rows == PER_PASS         ? info->count
                            : info->rows == PER_CACHE_SLOT ? kept
                                                           : tokens;
        numbers += info->width * rows;
    }
    if (numbers * sizeof(float) <= (double)SIZE_MAX / spare) return true;
    return fail_memory(err, "a pass over %.0f tokens is too large for this machine", tokens);
}

/* Returns the size of a packed weight: forward of w^T [in,out], backward of w [out,in]. */
static size_t packed_size(const Run *run, const Tensor *w) {
    size_t forward = run->products->packed_size(run->isa, w->shape[1], w->shape[0]);
    size_t backward = run->products->packed_size(run->isa, w->shape[0], w->shape[1]);
    return forward > backward ? forward : backward;
}

/* Places the packed copies of the weights. */
static void place_packed(Run *run) {
    for (int i = 0; i < run->model->tensor_count; i++) run->packed_offsets[i] = NOT_PACKED;
    for (int i = 0; i < run->tape.count; i++) {
        int number = run->tape.list[i].tensors[0] - 1;
        if (!run->tape.list[i].operation->packed || run->packed_offsets[number] != NOT_PACKED)
            continue;
        run->packed_offsets[number] = run->packed_size;
        run->packed_size += memory_lines(packed_size(run, &run->model->tensors[number]));
    }
}

bool execute_plan(Run *run, Error *err) {
    const RunOptions *o = &run->options;
    size_t tensors = (size_t)run->model->tensor_count, tokens = run_tokens(run);
    if (!memory_alloc(&run->packed_offsets, tensors, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->params, tensors, sizeof(Param), "the run", err) ||
        !tape_record_rung(&run->tape, run->model, o, err) ||
        !check_count(&run->tape, o, (double)tokens, err))
        return false;
    if (!schedule_open(&run->schedule, &run->tape, tokens, (size_t)o->length, err)) return false;
    place_packed(run);
    return true;
}

/* Returns the floats before the row of token `first` of an array, or of its stretch. */
static size_t row_offset(const Run *run, int array, size_t first) {
    const ArrayInfo *info = &run->tape.arrays[array];
    size_t row = info->rows == PER_TOKEN ? first : info->rows == PER_STRETCH ? first / STRETCH : 0;
    return row * (size_t)info->width;
}

float *execute_array(const Run *run, Array array) {
    return run->activations + run->schedule.offsets[array.id] + array.offset;
}

/* Returns the operands of an instruction from token 0 on. */
static Call prepare_call(const Run *run, const Instruction *at) {
    const ArrayInfo *arrays = run->tape.arrays;
    Call call = {.instruction = at, .pass = &run->pass};
    for (int i = 0; i < MAX_INPUTS; i++) {
        if (!at->inputs[i].id) continue;
        call.in[i] = execute_array(run, at->inputs[i]);
        call.in_row[i] = (size_t)arrays[at->inputs[i].id].width;
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (!at->outputs[i].id) continue;
        call.out[i] = execute_array(run, at->outputs[i]);
        call.out_row[i] = (size_t)arrays[at->outputs[i].id].width;
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (at->tensors[i]) call.tensors[i] = run->params[at->tensors[i] - 1];
    return call;
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

bool execute_allocate(Run *run, Error *err) {
    const Tape *p = &run->tape;
    size_t taken = (size_t)run->schedule.phase_count * (size_t)run->options.threads;
    const Run *packed_by = run->options.packed_by;
    /* Training clears the blocks, so that it takes all the memory that it states. Other runs do
       not: a short text leaves most pages untouched. No result depends on vector padding. */
    bool (*alloc)(void *, size_t, size_t, const char *, Error *) =
        run->options.training ? memory_alloc : memory_alloc_unset;
    if (packed_by)
        run->packed = packed_by->packed;
    else if (!alloc(&run->packed, run->packed_size, sizeof(float), "the packed weights", err))
        return false;
    if (!alloc(&run->activations, run->schedule.size, sizeof(float), "the activations", err) ||
        !memory_alloc(&run->taken, taken, sizeof *run->taken, "the threads", err) ||
        !memory_alloc(&run->calls, (size_t)p->count, sizeof *run->calls, "the run", err))
        return false;
    for (int i = 0; i < run->model->tensor_count; i++) {
        size_t offset = run->model->tensors[i].offset, packed = run->packed_offsets[i];
        run->params[i] = (Param){.w = run->model->weights + offset,
                                 .dw = run->gradients ? run->gradients + offset : NULL,
                                 .packed = packed == NOT_PACKED ? NULL : run->packed + packed};
    }
    for (int id = 1; id < p->array_count; id++) {
        const ArrayInfo *info = &p->arrays[id];
        if (!info->fill) continue;
        float *rows = execute_array(run, (Array){id, 0, 0});
        for (int t = 0; t < run->options.length; t++)
            info->fill(rows + (size_t)t * (size_t)info->width, t, info->width);
    }
    for (int i = 0; i < p->count; i++) run->calls[i] = prepare_call(run, &p->list[i]);
    return true;
}

size_t execute_scratch(const Run *run) {
    size_t max = 0;
    for (int i = 0; i < run->tape.count; i++) {
        const Instruction *at = &run->tape.list[i];
        if (!at->operation->scratch) continue;
        size_t size = at->operation->scratch(at, run->isa, run->products, run->options.length);
        if (size > max) max = size;
    }
    return max;
}

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
