/* execute.c - the instructions of a program at work. */
#include "model/engine/execute.h"
#include "model/engine/buckets.h"
#include "model/engine/profile.h"
#include "base/random.h"
#include "base/world.h"

#include <assert.h>

/* Of the lengths with which the slowest thread has the fewest tiles, the longest. */
int execute_block_size(const Products *products, size_t tokens, int threads, int most) {
    enum { TILE = 6 };  /* rows of a register tile, with most instruction sets */
    enum { TILES = 2 }; /* of AMX: the fewer, the more of a step stays in the L2 cache */
    size_t tile = products->rows ? (size_t)products->rows : TILE, least = SIZE_MAX;
    size_t grain = products->rows ? (size_t)products->rows : STRETCH, best = grain;
    size_t max = products->rows ? TILES * tile : BLOCK_MAX;
    if (max > (size_t)most) max = (size_t)most;
    assert(grain % STRETCH == 0 && max >= grain);
    for (size_t length = grain; length <= max && length < tokens + grain; length += grain) {
        size_t blocks = (tokens + length - 1) / length, team = (size_t)threads;
        size_t tiles = (blocks + team - 1) / team * ((length + tile - 1) / tile);
        if (tiles > least) continue;
        least = tiles;
        best = length;
    }
    return (int)best;
}

void execute_packing(const Run *run, const Thread *thread, bool backward) {
    const Model *model = run->model;
    double start = profile_now(run);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (run->packed_offsets[i] != SIZE_MAX)
            linear_pack(thread, run->packed + run->packed_offsets[i],
                        model->weights + tensor->offset, tensor->shape[1], tensor->shape[0],
                        backward);
    }
    start = profile_other(run, thread, PROFILE_PACKING, start);
    team_barrier(thread);
    profile_other(run, thread, PROFILE_WAITING, start);
}

/* A pointer to the columns of an array at the row of token `first`; PER_STRETCH: at the row of its
 * stretch. */
static float *locate(const Run *run, const Location *locations, Array array, int thread,
                     size_t first) {
    const ArrayInfo *info = &run->program.arrays[array.id];
    const Location *at = &locations[array.id];
    if (at->where == OWN)
        return run->own + (size_t)thread * run->own_size + at->offset + array.offset;
    if (at->where == SINGLE) return run->single + at->offset + array.offset;
    size_t row = info->rows == PER_TOKEN     ? first + (at->cached ? (size_t)run->pass.past : 0)
                 : info->rows == PER_STRETCH ? first / STRETCH
                                             : 0;
    return run->activations + at->offset + row * (size_t)info->width + array.offset;
}

const float *run_array(const Run *run, Array array) {
    return locate(run, run->schedule.many, array, 0, 0);
}

float *execute_logits(const Run *run) {
    return locate(run, run->schedule.many, run->program.logits, 0, 0);
}

/* ---- executing instructions ---- */

int execute_blocks(const Run *run) {
    return (run->pass.B * run->pass.T + run->block - 1) / run->block;
}

/* Sets *block to number i, from 0, of the blocks that the thread has; false beyond its last. */
bool execute_own_block(const Run *run, const Thread *thread, int i, Block *block) {
    size_t tokens = (size_t)run->pass.B * (size_t)run->pass.T, length = (size_t)run->block;
    Share own = team_share(thread, tokens, length);
    size_t first = own.begin + (size_t)i * length;
    if (first >= own.end) return false;
    *block = (Block){first, (int)(own.end - first < length ? own.end - first : length)};
    return true;
}

/* The dropout mask of an instruction in the current step. */
static Dropout dropout_of(const Run *run, const Instruction *at) {
    if (at->place == NO_DROPOUT || !run->pass.dropping) return (Dropout){0};
    uint64_t key = random_key(run->options.seed, RANDOM_DROPOUT, run->step);
    uint64_t place = (uint64_t)at->place << 32 | (uint64_t)at->layer;
    return (Dropout){.rate = (float)run->model->config.dropout,
                     .key = random_bits(key, place),
                     .first = (size_t)run->before * (size_t)run->pass.T};
}

static void execute(const Run *run, const Thread *thread, const Instruction *at,
                    const Location *locations, Block tokens, atomic_int *taken) {
    const ArrayInfo *arrays = run->program.arrays;
    Call call = {.instruction = at,
                 .thread = thread,
                 .pass = &run->pass,
                 .first = tokens.first,
                 .N = tokens.count,
                 .dropout = dropout_of(run, at),
                 .taken = taken,
                 .targets = run->targets,
                 .taught = run->taught,
                 .taught_share = run->taught_share,
                 .scale = run->scale};
    for (int i = 0; i < MAX_INPUTS; i++) {
        if (!at->inputs[i].id) continue;
        call.in[i] = locate(run, locations, at->inputs[i], thread->index, tokens.first);
        call.in_row[i] = (size_t)arrays[at->inputs[i].id].width;
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (!at->outputs[i].id) continue;
        call.out[i] = locate(run, locations, at->outputs[i], thread->index, tokens.first);
        call.out_row[i] = (size_t)arrays[at->outputs[i].id].width;
    }
    for (int i = 0; i < MAX_TENSORS; i++)
        if (at->tensors[i] >= 0) call.tensors[i] = run->params[at->tensors[i]];
    double start = profile_now(run);
    at->operation->compute(&call);
    profile_instruction(run, thread, (int)(at - run->program.list), start);
}

/* Begins to send the gradients of a block of the model to other processes while the pass goes
 * on. */
static void send_gradients(const Run *run, const Thread *thread, int layer) {
    if (run->options.shared && thread->index == 0) buckets_send(run, layer);
}

void execute_begin(const Run *run) {
    for (int i = 0; i < run->schedule.step_count * run->options.threads; i++)
        atomic_store_explicit(&run->taken[i], 0, memory_order_relaxed);
}

/* One block after another through all instructions of the step. */
static void take_blocks(const Run *run, const Thread *thread, const Step *step, atomic_int *taken) {
    size_t tokens = (size_t)run->pass.B * (size_t)run->pass.T, length = (size_t)run->block;
    Items blocks = team_items(thread, (size_t)execute_blocks(run), step->any ? taken : NULL);
    for (size_t i; team_next(&blocks, &i);) {
        size_t first = i * length, rest = tokens - first;
        Block block = {first, (int)(rest < length ? rest : length)};
        for (int j = step->begin; j < step->end; j++)
            execute(run, thread, &run->program.list[j], run->schedule.many, block, NULL);
        if (run->options.shared && thread->index == 0) world_progress();
    }
}

static void take_step(const Run *run, const Thread *thread, const Step *step) {
    const Instruction *list = run->program.list;
    Block all = {0, run->pass.B * run->pass.T};
    atomic_int *taken = run->taken + (step - run->schedule.steps) * run->options.threads;
    double start = profile_now(run);
    if (step->barrier) team_barrier(thread);
    profile_other(run, thread, PROFILE_WAITING, start);
    if (list[step->begin].operation == &gradients_ready)
        send_gradients(run, thread, list[step->begin].layer);
    else if (step->team)
        execute(run, thread, &list[step->begin], run->schedule.many, all, taken);
    else
        take_blocks(run, thread, step, taken);
}

void execute_steps(const Run *run, const Thread *thread, int begin, int end) {
    for (int i = begin; i < end; i++) take_step(run, thread, &run->schedule.steps[i]);
}

/* The forward pass over one token: all threads execute every instruction together. */
void execute_token(const Run *run, const Thread *thread) {
    const Schedule *s = &run->schedule;
    for (int i = 0; i < run->program.backward; i++) {
        if (s->waits[i]) team_barrier(thread);
        if (!s->by_first[i] || thread->index == 0)
            execute(run, thread, &run->program.list[i], s->single, (Block){0, 1}, NULL);
    }
}
