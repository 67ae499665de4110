/* optimizer.c - updates the weights: clipping, AdamW and Muon. */
#include "model/engine/inside.h"
#include "model/engine/muon.h"
#include "base/array.h"
#include "base/elementary.h"
#include "base/memory.h"
#include "base/world.h"

#include <math.h>
#include <string.h>

/* Returns the size of the chunk of a tensor that one thread squares and updates, in floats: a
 * constant, or a row if rows without a gradient are left alone. */
static size_t chunk_size(const Tensor *tensor) {
    enum { CHUNK = 4096 };
    return tensor->sparse ? (size_t)tensor->shape[1] : CHUNK;
}

static size_t chunks_in(const Tensor *tensor) {
    return ceil_div(tensor->size, chunk_size(tensor));
}

bool update_open(Run *run, Error *err) {
    const Model *model = run->model;
    size_t size = model->weights_size, chunks = 0;
    for (int i = 0; i < model->tensor_count; i++) chunks += chunks_in(&model->tensors[i]);
    return memory_alloc(&run->gradients, size, sizeof(float), "the gradients", err) &&
           memory_alloc(&run->first, size, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->second, size, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->squares, chunks, sizeof(double), "the optimizer", err) &&
           (!run->options.shared ||
            buckets_open(&run->buckets, model, run->products, run->gradients, err));
}

void update_close(Run *run) {
    memory_free(run->gradients);
    memory_free(run->first);
    memory_free(run->second);
    memory_free(run->squares);
    buckets_close(run->buckets);
}

size_t update_scratch(const Run *run) {
    size_t max = 0;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        if (!tensor->muon) continue;
        size_t size = muon_scratch(run->isa, run->products, tensor->shape[0], tensor->shape[1]);
        if (size > max) max = size;
    }
    return max;
}

static bool has_muon(const Model *model) {
    for (int i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].muon) return true;
    return false;
}

/* One update, and the global gradient norm that it measured. */
typedef struct {
    const Run *run;
    const Optimizer *optimizer;
    double norm;
} Update;

/* Returns the norm of all gradients. Threads sum the squares of chunks; then every thread sums all
 * chunks in order, so that the sum is the same at any number of threads. Each tensor is counted by
 * one process; the others add 0. */
static double gradient_norm(const Run *run, const Thread *thread) {
    const Model *model = run->model;
    size_t count = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        size_t chunk = chunk_size(tensor), chunks = chunks_in(tensor);
        Share share = team_share(thread, chunks, 1);
        bool mine = !run->buckets || buckets_measures(run->buckets, i);
        for (size_t j = share.begin; j < share.end; j++) {
            const float *g = run->gradients + tensor->offset + j * chunk;
            size_t rest = tensor->size - j * chunk, n = min_size(rest, chunk);
            run->squares[count + j] = mine ? (double)thread->isa->dot(g, g, n) : 0;
        }
        count += chunks;
    }
    team_barrier(thread);
    if (run->buckets) {
        if (thread->index == 0) world_allreduce(run->squares, count);
        team_barrier(thread);
    }
    double total = 0;
    for (size_t i = 0; i < count; i++) total += run->squares[i];
    return sqrt(total);
}

/* Updates a tensor with AdamW. squares[j] is the sum of squares of its chunk j. */
static void update_tensor(const Run *run, const Thread *thread, const Tensor *tensor, AdamW step,
                          const double *squares) {
    size_t chunk = chunk_size(tensor);
    Share share = team_share(thread, chunks_in(tensor), 1);
    for (size_t j = share.begin; j < share.end; j++) {
        if (tensor->sparse && squares[j] == 0) continue;
        size_t at = tensor->offset + j * chunk, rest = tensor->size - j * chunk;
        size_t n = min_size(rest, chunk);
        float *g = run->gradients + at;
        thread->isa->adamw(run->model->weights + at, run->first + at, run->second + at, g, step, n);
        memset(g, 0, n * sizeof *g); /* the next backward pass adds to it */
    }
}

/* Updates the matrices of Muon, each by one thread. The next one goes to the thread with the least
 * work so far; every thread computes the same assignment. */
static void update_matrices(const Run *run, const Thread *thread, Muon muon) {
    float work[TRIL_MAX_THREADS] = {0}; /* float, not double: it is on a thread's stack */
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        if (!tensor->muon) continue;
        float *g = run->gradients + tensor->offset;
        if (run->buckets && !buckets_trains(run->buckets, i)) { /* the next pass adds to it */
            if (i % thread->count == thread->index) memset(g, 0, tensor->size * sizeof *g);
            continue;
        }
        int min = 0, rows = tensor->shape[0], columns = tensor->shape[1];
        for (int t = 1; t < thread->count; t++)
            if (work[t] < work[min]) min = t;
        work[min] += (float)muon_work(run->products, rows, columns);
        if (min != thread->index) continue;
        muon_step(thread, run->model->weights + tensor->offset, run->first + tensor->offset, g,
                  rows, columns, muon);
        memset(g, 0, tensor->size * sizeof *g);
    }
}

static void update_work(const Thread *thread, void *argument) {
    Update *update = argument;
    const Run *run = update->run;
    const Optimizer *o = update->optimizer;
    const double start = profile_now(run), norm = gradient_norm(run, thread),
                 steps = (double)run->step;
    AdamW step = {
        .learning_rate = (float)o->learning_rate,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .epsilon = (float)o->epsilon,
        .correction1 = (float)(1 - power(o->beta1, steps)),
        .correction2 = (float)(1 - power(o->beta2, steps)),
        .gradient_scale = o->clip != NO_CLIPPING && norm > o->clip ? (float)(o->clip / norm) : 1.0f,
    };
    const double *squares = run->squares;
    if (thread->index == 0) update->norm = norm;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        step.decay = tensor->decays ? (float)o->weight_decay : 0.0f;
        if (!tensor->muon) update_tensor(run, thread, tensor, step, squares);
        squares += chunks_in(tensor);
    }
    update_matrices(run, thread,
                    (Muon){.rate = (float)o->matrix_rate,
                           .momentum = (float)o->momentum,
                           .decay = (float)o->matrix_decay});
    profile_add(run, thread, run->tape.count, start);
}

double run_update(Run *run, const Optimizer *optimizer) {
    enum { CACHED = 1 << 19 }; /* weights: 8 MB with gradients and moments */
    Update update = {.run = run, .optimizer = optimizer};
    /* the threads of the pass, because their caches have the weights and the gradients; all threads
       if the weights are too many for the caches, or for Muon */
    bool many = run->model->parameters > CACHED || has_muon(run->model);
    int threads = many && !run->alone ? run->options.threads : run->threads;
    if (run->options.shared) world_wait(); /* until all gradients are summed */
    run->step++;
    team_run(run->team, threads, update_work, &update);
    if (run->options.shared) buckets_share(run->buckets, run->model->weights);
    run->profile.in_step = false;
    run_note_pace(run);
    return update.norm;
}

void run_collect(Run *run) {
    if (run->buckets) buckets_share(run->buckets, run->first);
}

void run_restore(Run *run, uint64_t step, const float *first_moments, const float *second_moments) {
    size_t bytes = run->model->weights_size * sizeof(float);
    run->step = step;
    if (first_moments) memcpy(run->first, first_moments, bytes);
    if (second_moments) memcpy(run->second, second_moments, bytes);
}
