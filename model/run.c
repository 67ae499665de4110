/* run.c - one model at work: its activations, a pass, a loss. */
#include "model/run.h"
#include "model/optimizer.h"
#include "base/memory.h"
#include "base/random.h"

#include <assert.h>
#if defined _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

/* Gives each buffer of each layer its place; returns the floats needed. */
static size_t lay_out(Run *run) {
    const Rung *rung = run->model->rung;
    const Config *c = &run->model->config;
    size_t tokens = (size_t)run->options.batch * (size_t)run->options.length, room = 0;
    for (int i = 0; i < rung->buffer_count; i++) {
        const BufferSpec *spec = &rung->buffers[i];
        size_t size = (tokens * (size_t)size_of(c, spec->width) + 15) / 16 * 16;
        for (int l = 0; l < c->L; l++) {
            size_t *offset = &run->offsets[i * c->L + l];
            if (spec->flags & TRAINING && !run->options.training) {
                *offset = SIZE_MAX;
            } else if (l > 0 && !(spec->flags & EVERY_LAYER)) {
                *offset = run->offsets[i * c->L];
            } else {
                *offset = room;
                room += size;
            }
        }
    }
    return room;
}

int run_default_threads(void) {
#if defined _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

bool run_open(Run **opened, Model *model, const RunOptions *options, Error *err) {
    assert(options->batch >= 1 && options->length >= 1 && options->length <= model->config.T);
    *opened = NULL;
    Run *run;
    if (!memory_alloc(&run, 1, sizeof *run, "the run", err)) return false;
    run->model = model;
    run->options = *options;
    size_t tokens = (size_t)options->batch * (size_t)options->length;
    if (tokens > MAX_TOKENS) {
        run_close(run);
        return fail(err, "%d x %d tokens in a batch are more than %d", options->batch,
                    options->length, MAX_TOKENS);
    }
    size_t places = (size_t)model->rung->buffer_count * (size_t)model->config.L;
    run->isa = isa_choose(err);
    if (!run->isa || !team_open(&run->team, run->isa, options->threads, options->length, err) ||
        !memory_alloc(&run->offsets, places, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->activations, lay_out(run), sizeof(float), "the activations", err) ||
        !memory_alloc(&run->losses, tokens, sizeof(float), "the losses", err) ||
        (options->training && !optimizer_open(run, err))) {
        run_close(run);
        return false;
    }
    *opened = run;
    return true;
}

void run_close(Run *run) {
    if (!run) return;
    optimizer_close(run);
    team_close(run->team);
    memory_free(run->offsets);
    memory_free(run->activations);
    memory_free(run->losses);
    memory_free(run);
}

const char *run_kernels(const Run *run) {
    return run->isa->name;
}

/* Writes a pointer into a struct of pointers, at the offset that a table gives. */
static void set_slot(void *slots, size_t slot, float *pointer) {
    memcpy((char *)slots + slot, &pointer, sizeof pointer);
}

static void bind_tensors(const Run *run, float *block, int l, void *slots) {
    const Model *model = run->model;
    const Tensor *tensor = model->tensors;
    for (int i = 0; i < model->rung->tensor_count; i++) {
        const TensorSpec *spec = &model->rung->tensors[i];
        bool every = spec->flags & EVERY_LAYER;
        set_slot(slots, spec->slot, block + tensor[every ? l : 0].offset);
        tensor += every ? model->config.L : 1;
    }
}

void run_weights(const Run *run, int l, void *weights) {
    bind_tensors(run, run->model->weights, l, weights);
}

void run_gradients(const Run *run, int l, void *gradients) {
    bind_tensors(run, run->gradients, l, gradients);
}

void run_buffers(const Run *run, int l, void *buffers) {
    const Rung *rung = run->model->rung;
    for (int i = 0; i < rung->buffer_count; i++) {
        size_t offset = run->offsets[i * run->model->config.L + l];
        set_slot(buffers, rung->buffers[i].slot,
                 offset == SIZE_MAX ? NULL : run->activations + offset);
    }
}

Dropout run_dropout(const Run *run, int place, int l) {
    if (!run->dropping) return (Dropout){0};
    uint64_t key = random_key(run->options.seed, RANDOM_DROPOUT, run->step);
    return (Dropout){.rate = (float)run->model->config.dropout,
                     .key = random_bits(key, (uint64_t)place << 32 | (uint64_t)l)};
}

/* The first buffer of every rung. */
static float *logits_of(const Run *run) {
    return run->activations + run->offsets[0];
}

/* How many threads a pass is worth: below so many multiply-adds they would wait for each other
 * longer than they work. */
static int threads_for(const Run *run) {
    enum { WORTH_IT = 1 << 18 };
    size_t work = run->model->parameters * (size_t)run->B * (size_t)run->T;
    return work < WORTH_IT ? 1 : run->options.threads;
}

static void forward_work(const Kernels *k, void *run) {
    const Run *of = run;
    of->model->rung->forward(of, k);
}

static void forward(Run *run, const int32_t *ids, int B, int T, int past, bool dropping) {
    assert(B >= 1 && B <= run->options.batch && T >= 1 && past >= 0);
    assert(past + T <= run->options.length && (past == 0 || B == 1));
    run->ids = ids;
    run->B = B;
    run->T = T;
    run->past = past;
    run->dropping = dropping && run->model->config.dropout > 0;
    team_run(run->team, threads_for(run), forward_work, run);
}

const float *run_forward(Run *run, const int32_t *ids, int B, int T, int past) {
    forward(run, ids, B, T, past, false);
    return logits_of(run);
}

void run_forward_training(Run *run, const int32_t *ids, int B, int T) {
    assert(run->options.training);
    forward(run, ids, B, T, 0, true);
}

static void loss_work(const Kernels *k, void *run) {
    const Run *of = run;
    cross_entropy_forward(k, of->losses, logits_of(of), of->targets, of->B * of->T,
                          of->model->config.V);
}

/* The sum of the losses of the last pass, added up in order. */
static double total_loss(Run *run, const int32_t *targets) {
    double total = 0;
    run->targets = targets;
    team_run(run->team, threads_for(run), loss_work, run);
    for (int n = 0; n < run->B * run->T; n++) total += (double)run->losses[n];
    return total;
}

double run_loss(Run *run, const int32_t *targets) {
    return total_loss(run, targets) / (run->B * run->T);
}

static void backward_work(const Kernels *k, void *run) {
    const Run *of = run;
    int N = of->B * of->T;
    cross_entropy_backward(k, logits_of(of), logits_of(of), of->targets, 1.0f / (float)N, N,
                           of->model->config.V);
    of->model->rung->backward(of, k);
}

void run_backward(Run *run, const int32_t *targets) {
    run->targets = targets;
    team_run(run->team, threads_for(run), backward_work, run);
}

double run_evaluate(Run *run, const int32_t *ids, size_t count, size_t every) {
    assert(count >= 2 && every >= 1);
    size_t T = (size_t)run->options.length, most = (size_t)run->options.batch * T;
    size_t last = count - 1, seen = 0;
    double total = 0;
    for (size_t at = 0; at < last; at += most * every) {
        /* A whole batch of windows or, at the end, what is left: whole windows, then a short one.
         */
        size_t end = last - at < most ? last : at + most;
        for (size_t i = at; i < end;) {
            size_t B = (end - i) / T, length = T;
            if (B == 0) {
                B = 1;
                length = end - i;
            }
            run_forward(run, ids + i, (int)B, (int)length, 0);
            total += total_loss(run, ids + i + 1);
            i += B * length;
            seen += B * length;
        }
    }
    return total / (double)seen;
}
