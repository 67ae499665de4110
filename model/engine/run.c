/* run.c - opens a run: its program, its memory, its threads. */
#include "model/engine/run.h"
#include "model/engine/buckets.h"
#include "model/engine/execute.h"
#include "model/engine/muon.h"
#include "model/engine/optimizer.h"
#include "model/engine/profile.h"
#include "model/engine/record.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/world.h"

#include <assert.h>
#include <stdlib.h>

/* The largest pass of a run. */
static Capacity capacity_of(const Run *run) {
    size_t tokens = (size_t)run->options.batch * (size_t)run->options.length;
    return (Capacity){.tokens = tokens,
                      .positions = (size_t)run->options.length,
                      .block = (size_t)execute_block_size(run->products, tokens,
                                                          run->options.threads, BLOCK_MAX)};
}

/* The memory of a run, in floats. */
typedef struct {
    size_t activations, packed;
    size_t scratch; /* for each thread, for attention or Muon */
} Needs;

/* Sizes the three memories of the activations. Returns the floats of all. */
static size_t lay_out(Run *run) {
    const Schedule *s = &run->schedule;
    size_t own = s->many_own > s->single_own ? s->many_own : s->single_own;
    run->own_size = memory_lines(own);
    return s->many_shared + (size_t)run->options.threads * run->own_size + s->single_shared;
}

/* Places the packed copies of the weights that instructions need packed. Returns their floats. */
static size_t lay_out_packed(Run *run) {
    const Model *model = run->model;
    const Program *p = &run->program;
    size_t size = 0;
    for (int i = 0; i < model->tensor_count; i++) run->packed_offsets[i] = SIZE_MAX;
    for (int i = 0; i < p->count; i++) {
        int number = p->list[i].tensors[0];
        if (!p->list[i].operation->packed || run->packed_offsets[number] != SIZE_MAX) continue;
        const Tensor *tensor = &model->tensors[number];
        run->packed_offsets[number] = size;
        size += memory_lines(
            linear_packed_size(run->isa, run->products, tensor->shape[1], tensor->shape[0]));
    }
    return size;
}

/* Sets the pointers of each Param and of the memories, and fills the constants. */
static void look_up(Run *run) {
    const Model *model = run->model;
    const Program *p = &run->program;
    for (int i = 0; i < model->tensor_count; i++) {
        size_t offset = model->tensors[i].offset, packed = run->packed_offsets[i];
        run->params[i] = (Param){.w = model->weights + offset,
                                 .dw = run->gradients ? run->gradients + offset : NULL,
                                 .packed = packed == SIZE_MAX ? NULL : run->packed + packed};
    }
    run->own = run->activations + run->schedule.many_shared;
    run->single = run->own + (size_t)run->options.threads * run->own_size;
    for (int id = 1; id < p->array_count; id++) {
        float *rows = run->activations + run->schedule.many[id].offset;
        int width = p->arrays[id].width;
        for (int t = 0; t < run->options.length && p->arrays[id].fill; t++)
            p->arrays[id].fill(rows + (size_t)t * (size_t)width, t, width);
    }
}

int run_max_threads(void) {
    return min_int(threads_processors(), MAX_THREADS);
}

int run_default_threads(void) {
    const char *limit = getenv("OMP_NUM_THREADS");
    long threads = limit ? strtol(limit, NULL, 10) : 0;
    int max = run_max_threads();
    return threads > 0 && threads < max ? (int)threads : max;
}

/* The scratch that each thread needs, in floats. */
static size_t scratch_of(const Run *run) {
    const Model *model = run->model;
    const Program *p = &run->program;
    size_t max = 0;
    for (int i = 0; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        if (at->operation != &attention_operation) continue;
        int dk = at->inputs[0].width / at->NH, dv = at->outputs[0].width / at->NH;
        size_t size = attention_scratch(run->isa, run->products, run->options.length, dk, dv);
        if (size > max) max = size;
    }
    for (int i = 0; i < model->tensor_count && run->options.training; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (!(tensor->flags & MUON)) continue;
        size_t size = muon_scratch(run->isa, run->products, tensor->shape[0], tensor->shape[1]);
        if (size > max) max = size;
    }
    return max;
}

/* Reduces the batch to this process's part. Without training, a batch may have fewer sequences than
 * there are processes. */
static bool take_part(Run *run, Error *err) {
    RunOptions *o = &run->options;
    o->shared = o->shared && world_size() > 1;
    int rank = o->shared ? world_rank() : 0, size = o->shared ? world_size() : 1;
    run->whole = o->batch;
    run->before = (int)((int64_t)o->batch * rank / size);
    o->batch = (int)((int64_t)o->batch * (rank + 1) / size) - run->before;
    if (run->whole < size && o->training)
        return fail(err, "a --batch of %d is too small for %d processes to share", run->whole,
                    size);
    if (o->batch == 0) o->batch = 1;
    if ((size_t)o->batch * (size_t)o->length <= MAX_TOKENS) return true;
    return fail(err, "%d x %d tokens in a batch are more than %d", o->batch, o->length, MAX_TOKENS);
}

/* Are all numbers that follow from the pass, such as the bytes of all arrays, sizes? With eight
 * bytes in a size_t always; with four, on 32-bit machines, the batch must be small. */
static bool check_count(const Run *run, Error *err) {
    const double spare = 4;
    const Program *p = &run->program;
    double tokens = (double)run->options.batch * run->options.length, numbers = 0;
    for (int id = 1; id < p->array_count; id++)
        numbers += p->arrays[id].width * (p->arrays[id].count > 0 ? p->arrays[id].count : tokens);
    if (numbers * sizeof(float) <= (double)SIZE_MAX / spare) return true;
    fail(err, "a pass over %.0f tokens is too large for this machine", tokens);
    err->no_memory = true;
    return false;
}

static bool make_program(Run *run, Error *err) {
    if (!record(&run->program, run->model, run->options.training, err) || !check_count(run, err))
        return false;
    if (run->options.kept) program_keep_all(&run->program);
    Capacity capacity = capacity_of(run);
    run->longest_block = (int)capacity.block;
    return schedule_open(&run->schedule, &run->program, capacity, err);
}

/* Makes a run with everything chosen and laid out. Its large memory is measured, not yet
 * allocated. */
static bool plan(Run **planned, Model *model, const RunOptions *options, Needs *needs, Error *err) {
    Run *run;
    *planned = NULL;
    if (!memory_alloc(&run, 1, sizeof *run, "the run", err)) return false;
    run->model = model;
    run->options = *options;
    if (!take_part(run, err)) {
        run_close(run);
        return false;
    }
    size_t tokens = (size_t)run->options.batch * (size_t)options->length;
    size_t tensors = (size_t)model->tensor_count;
    run->isa = isa_choose(err);
    run->products = options->precision == BFLOAT16       ? bf16_choose(err)
                    : options->precision == BF16_WEIGHTS ? &bf16_weight_products
                    : options->precision == INT8_WEIGHTS ? &int8_weight_products
                                                         : &float32_products;
    if (!run->isa || !run->products ||
        !memory_alloc(&run->packed_offsets, tensors, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->params, tensors, sizeof(Param), "the run", err) ||
        !make_program(run, err)) {
        run_close(run);
        return false;
    }
    *needs = (Needs){
        .activations = lay_out(run), .packed = lay_out_packed(run), .scratch = scratch_of(run)};
    run->memory = (Memory){
        .weights = (model->weights_size + needs->packed) * sizeof(float),
        .optimizer = options->training ? 3 * model->weights_size * sizeof(float) : 0,
        .messages = run->options.shared && options->training
                        ? world_buffer_size(model->weights_size, true) * sizeof(float)
                        : 0,
        .activations =
            (needs->activations + tokens) * sizeof(float) + WINDOWS_AT_ONCE * sizeof(double),
        .threads = (size_t)options->threads * team_scratch(needs->scratch) * sizeof(float)};
    *planned = run;
    return true;
}

bool run_open(Run **opened, Model *model, const RunOptions *options, Error *err) {
    assert(!options->training || options->precision < BF16_WEIGHTS);
    assert(options->threads >= 1 && options->threads <= MAX_THREADS);
    assert(options->batch >= 1 && options->length >= 1 && options->length <= model->config.T);
    Needs needs;
    Run *run;
    *opened = NULL;
    if (!plan(&run, model, options, &needs, err)) return false;
    size_t tokens = (size_t)run->options.batch * (size_t)options->length;
    if (!team_open(&run->team, run->isa, run->products, options->threads, needs.scratch, err) ||
        !memory_alloc(&run->packed, needs.packed, sizeof(float), "the packed weights", err) ||
        !memory_alloc(&run->activations, needs.activations, sizeof(float), "the activations",
                      err) ||
        !memory_alloc(&run->taken, (size_t)run->schedule.step_count * (size_t)options->threads,
                      sizeof *run->taken, "the threads", err) ||
        !memory_alloc(&run->losses, tokens, sizeof(float), "the losses", err) ||
        !memory_alloc(&run->sums, WINDOWS_AT_ONCE, sizeof(double), "the losses", err) ||
        (options->training && !optimizer_open(run, err)) ||
        (options->training && run->options.shared && !buckets_open(run, err))) {
        run_close(run);
        return false;
    }
    look_up(run);
    run_freeze(run, options->frozen);
    *opened = run;
    return true;
}

void run_pace(Run *run) {
    run->paced = true;
}

Precision run_default_precision(void) {
    return bf16_advised() ? BFLOAT16 : FLOAT32;
}

Memory run_memory(const Run *run) {
    return run->memory;
}

bool run_estimate(const Config *config, const RunOptions *options, Memory *memory, Error *err) {
    Model model;
    Run *run = NULL;
    Needs needs;
    bool ok = model_lay_out(&model, config, err) && plan(&run, &model, options, &needs, err);
    if (ok) *memory = run->memory;
    run_close(run);
    model_free(&model);
    return ok;
}

void run_close(Run *run) {
    if (!run) return;
    optimizer_close(run);
    profile_close(run);
    buckets_close(run);
    team_close(run->team);
    program_close(&run->program);
    schedule_close(&run->schedule);
    memory_free(run->params);
    memory_free(run->activations);
    memory_free(run->packed_offsets);
    memory_free(run->packed);
    memory_free(run->taken);
    memory_free(run->losses);
    memory_free(run->sums);
    memory_free(run);
}

const Model *run_model(const Run *run) {
    return run->model;
}

const char *run_kernels(const Run *run) {
    return run->isa->name;
}

int run_part(const Run *run, int *first) {
    *first = run->before;
    return run->options.batch;
}
