#include "library/batches.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/world.h"

#include <math.h>
#include <string.h>

int stop_requested(void *check) {
    StopCheck *a = check;
    a->stopped = a->stopped || (a->stop && a->stop(a->user) != 0);
    return a->stopped;
}

bool batches_open(Batches *batches, Model *model, const RunOptions *options, const Corpus *corpus,
                  Error *err) {
    int first;
    *batches = (Batches){.model = model, .options = *options, .corpus = corpus};
    batches->options.shared = true;
    if (!run_open(&batches->run, model, &batches->options, err)) return false;
    run_pace(batches->run);
    const size_t windows = (size_t)run_part(batches->run, &first),
                 tokens = windows * (size_t)options->length;
    const bool ok = memory_alloc(&batches->inputs, tokens, sizeof(int32_t), "a batch", err) &&
                    memory_alloc(&batches->targets, tokens, sizeof(int32_t), "a batch", err) &&
                    memory_alloc(&batches->starts, windows, sizeof(size_t), "a batch", err);
    if (world_agree(ok, err)) return true;
    batches_close(batches);
    return false;
}

void batches_close(Batches *batches) {
    run_close(batches->run);
    memory_free(batches->inputs);
    memory_free(batches->targets);
    memory_free(batches->starts);
    *batches = (Batches){0};
}

/* Copies the windows of a batch, T tokens each, one after another, with the token after each. */
static void lay_out(const Batches *batches, int count, size_t T) {
    for (size_t b = 0; b < (size_t)count; b++) {
        const int32_t *from = batches->corpus->ids + batches->starts[b];
        memcpy(batches->inputs + b * T, from, T * sizeof *from);
        memcpy(batches->targets + b * T, from + 1, T * sizeof *from);
    }
}

Step batches_step(Batches *batches, uint64_t step, int window, const Optimizer *optimizer) {
    const double begun = clock_seconds();
    const RunOptions *o = &batches->options;
    Run *run = batches->run;
    int first, count = run_part(run, &first);
    Step taken = {.norm = NAN};
    const size_t T = (size_t)o->length;
    const TextOrigin source = {.starts = batches->starts, .window = T, .counted = true};
    batch_windows(batches->corpus->trained_on, o->batch, o->length, o->seed, step, first, count,
                  batches->starts);
    lay_out(batches, count, T);
    count *= o->length / window;
    run_forward_training(run, batches->inputs, count, window, &source);
    taken.loss = run_backward(run, batches->targets);
    if (isfinite(taken.loss)) taken.norm = run_update(run, optimizer);
    batches->seconds += clock_seconds() - begun;
    return taken;
}

bool batches_evaluate(Batches *batches, bool on_training_part, size_t characters, StopCheck *check,
                      double *loss, Error *err) {
    const Model *model = batches->model;
    const Corpus *corpus = batches->corpus;
    const size_t count =
        on_training_part ? corpus->trained_on : corpus->characters - corpus->trained_on;
    const Windows part = {.ids = corpus->ids + (on_training_part ? 0 : corpus->trained_on),
                          .count = count,
                          .every = characters > 0 ? (count - 1) / characters + 1 : 1,
                          .counted = on_training_part};
    if (world_size() > 1 &&
        !world_same(digest_bytes(model->weights, model->weights_size * sizeof(float)),
                    "its weights differ from the first process's", err))
        return false;
    *loss = run_evaluate(batches->run, part, stop_requested, check);
    return !check->stopped || fail_as(TRIL_STOPPED, err, "the evaluation was stopped");
}
