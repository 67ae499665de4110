/* optimizer.c - from gradients to better weights: clipping, AdamW, the learning rate's schedule. */
#include "model/optimizer.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 4096 }; /* numbers that a thread takes at a time */

static size_t chunks_of(size_t size) {
    return (size + CHUNK - 1) / CHUNK;
}

bool optimizer_open(Run *run, Error *err) {
    size_t room = run->model->room;
    return memory_alloc(&run->gradients, room, sizeof(float), "the gradients", err) &&
           memory_alloc(&run->first_moments, room, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->second_moments, room, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->squares, chunks_of(room), sizeof(double), "the optimizer", err);
}

void optimizer_close(Run *run) {
    memory_free(run->gradients);
    memory_free(run->first_moments);
    memory_free(run->second_moments);
    memory_free(run->squares);
}

const float *run_gradient(const Run *run, int tensor) {
    return run->gradients + run->model->tensors[tensor].offset;
}

/* Chunk by chunk, then, by every thread for itself, over the chunks in order: the same sum at any
 * number of threads. The padding between tensors is 0. */
static double gradient_norm(const Run *run, const Kernels *k) {
    size_t room = run->model->room;
    Share chunks = team_share(k, chunks_of(room), 1);
    for (size_t i = chunks.begin; i < chunks.end; i++) {
        const float *g = run->gradients + i * CHUNK;
        size_t n = room - i * CHUNK < CHUNK ? room - i * CHUNK : CHUNK;
        run->squares[i] = (double)k->isa->dot(g, g, n);
    }
    team_barrier(k);
    double total = 0;
    for (size_t i = 0; i < chunks_of(room); i++) total += run->squares[i];
    return sqrt(total);
}

static bool all_zero(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

/* The stretch of a tensor that is updated as one: a row where rows may be left alone. */
static size_t stretch_of(const Tensor *tensor) {
    return tensor->flags & LAZY_ROWS ? (size_t)tensor->shape[1] : CHUNK;
}

/* One update, and the norm that it found. */
typedef struct {
    const Run *run;
    const Optimizer *optimizer;
    double norm;
} Update;

static void update_tensor(const Run *run, const Kernels *k, const Tensor *tensor, AdamW step) {
    size_t stretch = stretch_of(tensor);
    Share share = team_share(k, tensor->size, stretch);
    for (size_t start = share.begin; start < share.end; start += stretch) {
        size_t at = tensor->offset + start;
        size_t n = share.end - start < stretch ? share.end - start : stretch;
        float *g = run->gradients + at;
        if (tensor->flags & LAZY_ROWS && all_zero(g, n)) continue;
        k->isa->adamw(run->model->weights + at, run->first_moments + at, run->second_moments + at,
                      g, step, n);
        memset(g, 0, n * sizeof *g); /* gradients are added to: the next step starts at 0 */
    }
}

static void update_work(const Kernels *k, void *argument) {
    Update *update = argument;
    const Run *run = update->run;
    const Optimizer *o = update->optimizer;
    double norm = gradient_norm(run, k), steps = (double)run->step;
    AdamW step = {
        .learning_rate = (float)o->learning_rate,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .epsilon = (float)o->epsilon,
        .correction1 = (float)(1 - pow(o->beta1, steps)),
        .correction2 = (float)(1 - pow(o->beta2, steps)),
        .gradient_scale = o->clip > 0 && norm > o->clip ? (float)(o->clip / norm) : 1.0f,
    };
    if (k->thread == 0) update->norm = norm;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        step.decay = tensor->flags & DECAYS ? (float)o->weight_decay : 0.0f;
        update_tensor(run, k, tensor, step);
    }
}

double run_update(Run *run, const Optimizer *optimizer) {
    Update update = {.run = run, .optimizer = optimizer};
    run->step++;
    team_run(run->team, run->options.threads, update_work, &update);
    return update.norm;
}

double schedule_cosine(int step, int steps, int warmup, double peak, double floor) {
    static const double pi = 3.14159265358979323846;
    if (step < warmup) return peak * (step + 1) / (warmup + 1);
    if (step >= steps) return floor;
    double progress = (double)(step - warmup) / (steps - warmup);
    return floor + 0.5 * (1 + cos(pi * progress)) * (peak - floor);
}
