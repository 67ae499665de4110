/* layout.c - the memory of a run: packed weights, arrays, and the operands of each instruction. */
#include "model/engine/inside.h"
#include "base/array.h"
#include "base/memory.h"

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

bool layout_plan(Run *run, Error *err) {
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

float *layout_array(const Run *run, Array array) {
    return run->activations + run->schedule.offsets[array.id] + array.offset;
}

/* Returns the operands of an instruction from token 0 on. */
static Call prepare_call(const Run *run, const Instruction *at) {
    const ArrayInfo *arrays = run->tape.arrays;
    Call call = {.instruction = at, .pass = &run->pass};
    for (int i = 0; i < MAX_INPUTS; i++) {
        if (!at->inputs[i].id) continue;
        call.in[i] = layout_array(run, at->inputs[i]);
        call.in_row[i] = (size_t)arrays[at->inputs[i].id].width;
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (!at->outputs[i].id) continue;
        call.out[i] = layout_array(run, at->outputs[i]);
        call.out_row[i] = (size_t)arrays[at->outputs[i].id].width;
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (at->tensors[i]) call.tensors[i] = run->params[at->tensors[i] - 1];
    return call;
}

bool layout_allocate(Run *run, Error *err) {
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
        float *rows = layout_array(run, (Array){id, 0, 0});
        for (int t = 0; t < run->options.length; t++)
            info->fill(rows + (size_t)t * (size_t)info->width, t, info->width);
    }
    for (int i = 0; i < p->count; i++) run->calls[i] = prepare_call(run, &p->list[i]);
    return true;
}

size_t layout_scratch(const Run *run) {
    size_t max = 0;
    for (int i = 0; i < run->tape.count; i++) {
        const Instruction *at = &run->tape.list[i];
        if (!at->operation->scratch) continue;
        size_t size = at->operation->scratch(at, run->isa, run->products, run->options.length);
        if (size > max) max = size;
    }
    return max;
}
