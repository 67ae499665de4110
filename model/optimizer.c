/* optimizer.c - from gradients to better weights: clipping, AdamW and Muon, the learning rate's
 * schedule. */
#include "model/optimizer.h"
#include "model/buckets.h"
#include "model/muon.h"
#include "base/memory.h"
#include "base/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The stretch of a tensor that is squared and updated as one: so many numbers, or a row where rows
 * may be left alone. */
static size_t stretch_of(const Tensor *tensor) {
    enum { CHUNK = 4096 };
    return tensor->flags & LAZY_ROWS ? (size_t)tensor->shape[1] : CHUNK;
}

static size_t stretches_of(const Tensor *tensor) {
    return (tensor->size + stretch_of(tensor) - 1) / stretch_of(tensor);
}

bool optimizer_open(Run *run, Error *err) {
    const Model *model = run->model;
    size_t room = model->room, stretches = 0;
    for (int i = 0; i < model->tensor_count; i++) stretches += stretches_of(&model->tensors[i]);
    return memory_alloc(&run->gradients, room, sizeof(float), "the gradients", err) &&
           memory_alloc(&run->first_moments, room, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->second_moments, room, sizeof(float), "the optimizer", err) &&
           memory_alloc(&run->squares, stretches, sizeof(double), "the optimizer", err);
}

void optimizer_close(Run *run) {
    memory_free(run->gradients);
    memory_free(run->first_moments);
    memory_free(run->second_moments);
    memory_free(run->squares);
}

void run_restore(Run *run, uint64_t step, const float *first_moments, const float *second_moments) {
    size_t bytes = run->model->room * sizeof(float);
    run->step = step;
    if (first_moments) memcpy(run->first_moments, first_moments, bytes);
    if (second_moments) memcpy(run->second_moments, second_moments, bytes);
    if (!run->options.shared) return;
    world_tell(run->first_moments, bytes);
    world_tell(run->second_moments, bytes);
}

void run_collect(Run *run) {
    buckets_share(run, run->first_moments);
}

const float *run_gradient(const Run *run, int tensor) {
    return run->gradients + run->model->tensors[tensor].offset;
}

/* Stretch by stretch, then, by every thread for itself, over the stretches in order: the same sum
 * at any number of threads. Of processes, one answers for each tensor; the others add 0. */
static double gradient_norm(const Run *run, const Kernels *k) {
    const Model *model = run->model;
    size_t count = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        size_t stretch = stretch_of(tensor), stretches = stretches_of(tensor);
        Share share = team_share(k, stretches, 1);
        for (size_t j = share.begin; j < share.end; j++) {
            const float *g = run->gradients + tensor->offset + j * stretch;
            size_t rest = tensor->size - j * stretch, n = rest < stretch ? rest : stretch;
            run->squares[count + j] = answers_for(run, i) ? (double)k->isa->dot(g, g, n) : 0;
        }
        count += stretches;
    }
    team_barrier(k);
    if (run->options.shared) {
        if (k->thread == 0) world_add(run->squares, count);
        team_barrier(k);
    }
    double total = 0;
    for (size_t i = 0; i < count; i++) total += run->squares[i];
    return sqrt(total);
}

/* One update, and the norm that it found. */
typedef struct {
    const Run *run;
    const Optimizer *optimizer;
    double norm;
} Update;

/* `squares` are the tensor's own. */
static void update_tensor(const Run *run, const Kernels *k, const Tensor *tensor, AdamW step,
                          const double *squares) {
    size_t stretch = stretch_of(tensor);
    Share share = team_share(k, stretches_of(tensor), 1);
    for (size_t j = share.begin; j < share.end; j++) {
        if (tensor->flags & LAZY_ROWS && squares[j] == 0) continue;
        size_t at = tensor->offset + j * stretch, rest = tensor->size - j * stretch;
        size_t n = rest < stretch ? rest : stretch;
        float *g = run->gradients + at;
        k->isa->adamw(run->model->weights + at, run->first_moments + at, run->second_moments + at,
                      g, step, n);
        memset(g, 0, n * sizeof *g); /* gradients are added to: the next step starts at 0 */
    }
}

/* The matrices that Muon trains, each by one thread: the next one goes to whoever has least to do,
 * which every thread works out for itself. */
static void update_matrices(const Run *run, const Kernels *k, Muon muon) {
    float work[MAX_THREADS] = {0}; /* no doubles: on a thread's stack */
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        if (!(tensor->flags & MUON)) continue;
        float *g = run->gradients + tensor->offset;
        if (!trains(run, i)) { /* but gradients are added to */
            if (i % k->threads == k->thread) memset(g, 0, tensor->size * sizeof *g);
            continue;
        }
        int least = 0, rows = tensor->shape[0], columns = tensor->shape[1];
        for (int t = 1; t < k->threads; t++)
            if (work[t] < work[least]) least = t;
        work[least] += (float)muon_work(rows, columns);
        if (least != k->thread) continue;
        muon_step(k, run->model->weights + tensor->offset, run->first_moments + tensor->offset, g,
                  rows, columns, muon);
        memset(g, 0, tensor->size * sizeof *g);
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
    const double *squares = run->squares;
    if (k->thread == 0) update->norm = norm;
    for (int i = 0; i < run->model->tensor_count; i++) {
        const Tensor *tensor = &run->model->tensors[i];
        if (tensor->flags & MUON) {
            squares += stretches_of(tensor);
            continue;
        }
        step.decay = tensor->flags & DECAYS ? (float)o->weight_decay : 0.0f;
        update_tensor(run, k, tensor, step, squares);
        squares += stretches_of(tensor);
    }
    update_matrices(run, k,
                    (Muon){.rate = (float)o->matrix_rate,
                           .momentum = (float)o->momentum,
                           .decay = (float)o->matrix_decay});
}

double run_update(Run *run, const Optimizer *optimizer) {
    Update update = {.run = run, .optimizer = optimizer};
    if (run->options.shared) world_finish(); /* all gradients are there */
    run->step++;
    team_run(run->team, run->options.threads, update_work, &update);
    buckets_share(run, run->model->weights);
    return update.norm;
}

static double warming(int step, int warmup) {
    return (double)(step + 1) / (warmup + 1);
}

double schedule_cosine(int step, int steps, int warmup, double floor) {
    static const double pi = 3.14159265358979323846;
    if (step < warmup) return warming(step, warmup);
    if (step >= steps) return floor;
    double progress = (double)(step - warmup) / (steps - warmup);
    return floor + 0.5 * (1 + cos(pi * progress)) * (1 - floor);
}

double schedule_trapezoid(int step, int steps, int warmup, int cooldown) {
    if (step < warmup) return warming(step, warmup);
    if (step <= steps - cooldown) return 1;
    return step < steps ? (double)(steps - step) / cooldown : 0;
}
