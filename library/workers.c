/* workers.c - the commands that the first process sends, and the processes of tril.h. */
#include "library/workers.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/world.h"
#include "library/handles.h"
#include "library/recipe.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From the first process to the workers. */
typedef struct {
    enum { TEXT, OPEN, CLOSE, RESTORE, STEP, EVALUATE, COLLECT, SHUTDOWN } kind;
    Config config;       /* OPEN */
    RunOptions options;  /* OPEN */
    bool usual_threads;  /* OPEN: each process uses as many as it has processors */
    uint64_t encoded;    /* TEXT: digest of its ids */
    size_t train, count; /* TEXT */
    bool trained_on;     /* EVALUATE, like the next */
    size_t every;
    uint64_t step;       /* STEP, RESTORE */
    int window;          /* STEP */
    Optimizer optimizer; /* STEP */
} Command;

static void broadcast(Command command) {
    world_broadcast(&command, sizeof command);
}

/* ---- on every process ---- */

/* Checks that every process has the same `size` bytes as the first one. `fault`: the message. */
static bool same(const void *own, size_t size, const char *fault, Error *err) {
    enum { MAX_SIZE = 64 };
    char first[MAX_SIZE];
    assert(size <= MAX_SIZE);
    memcpy(first, own, size);
    world_broadcast(first, size);
    return world_agree(memcmp(own, first, size) == 0 || fail(err, "%s", fault), err);
}

/* Every process updates its own copy of the weights: the copies must stay equal to the last bit. */
static bool same_kernels(const Workers *workers, Error *err) {
    char name[32] = {0};
    snprintf(name, sizeof name, "%s", run_kernels(workers->run));
    return same(
        name, sizeof name,
        "computes with other kernels than the first one; KERNELS=base in the environment of "
        "each makes them the same",
        err);
}

/* Gives every process the counts of the first one's model. */
static bool share_counts(Model *model, Error *err) {
    int32_t *ids = NULL;
    const NgramFacts own = ngram_facts(model->ngram);
    size_t counts[] = {own.count, own.fresh};
    if (world_size() == 1) return true;
    world_broadcast(counts, sizeof counts);
    if (counts[0] == 0) return true;
    bool ok = memory_alloc(&ids, counts[0], sizeof *ids, "the counts", err);
    ok = world_agree(ok, err);
    if (ok) {
        if (world_rank() == 0) memcpy(ids, own.ids, counts[0] * sizeof *ids);
        world_broadcast(ids, counts[0] * sizeof *ids);
        if (world_rank() > 0)
            ok = ngram_count(&model->ngram, ids, counts[0], counts[1], MAX_ORDER, model->config.V,
                             err);
        ok = world_agree(ok, err);
    }
    memory_free(ids);
    return ok;
}

static bool open_run(Workers *workers, bool ok, Error *err) {
    int first;
    if (!world_agree(ok, err)) return false;
    world_broadcast(workers->model->weights, workers->model->weights_size * sizeof(float));
    if (!share_counts(workers->model, err)) return false;
    /* a frozen run packs the weights now */
    ok = run_open(&workers->run, workers->model, &workers->options, err);
    if (ok) run_pace(workers->run);
    size_t windows = ok ? (size_t)run_part(workers->run, &first) : 0,
           tokens = windows * (size_t)workers->options.length;
    ok = ok && memory_alloc(&workers->inputs, tokens, sizeof(int32_t), "a batch", err) &&
         memory_alloc(&workers->targets, tokens, sizeof(int32_t), "a batch", err) &&
         memory_alloc(&workers->starts, windows, sizeof(size_t), "a batch", err);
    return world_agree(ok, err) && same_kernels(workers, err);
}

static void close_run(Workers *workers) {
    run_close(workers->run);
    memory_free(workers->inputs);
    memory_free(workers->targets);
    memory_free(workers->starts);
    *workers = (Workers){0};
}

/* Copies the windows of a batch, T tokens each, one after another, with the token after each. */
static void lay_out(const Workers *workers, int count, size_t T) {
    for (size_t b = 0; b < (size_t)count; b++) {
        const int32_t *from = workers->corpus->ids + workers->starts[b];
        memcpy(workers->inputs + b * T, from, T * sizeof *from);
        memcpy(workers->targets + b * T, from + 1, T * sizeof *from);
    }
}

static Step take_step(Workers *workers, uint64_t step, int window, const Optimizer *optimizer) {
    const RunOptions *o = &workers->options;
    const Corpus *corpus = workers->corpus;
    assert(corpus); /* the first process has opened one */
    int first, count = run_part(workers->run, &first);
    Step taken = {.norm = NAN};
    const size_t T = (size_t)o->length;
    const Source source = {
        .starts = workers->starts, .window = T, .before = (size_t)first * T, .counted = true};
    batch_windows(corpus->train, o->batch, o->length, o->seed, step, first, count, workers->starts);
    lay_out(workers, count, T);
    count *= o->length / window;
    run_forward_training(workers->run, workers->inputs, count, window, &source);
    taken.loss = run_backward(workers->run, workers->targets);
    if (isfinite(taken.loss)) taken.norm = run_update(workers->run, optimizer);
    return taken;
}

static bool same_weights(const Workers *workers, Error *err) {
    if (world_size() == 1) return true;
    const Model *model = workers->model;
    uint64_t value = digest_bytes(model->weights, model->weights_size * sizeof(float));
    return same(&value, sizeof value, "its weights differ from the first process's", err);
}

static double evaluate(Workers *workers, bool trained_on, size_t every, Asking *asking) {
    const Corpus *corpus = workers->corpus;
    const Windows part = {.ids = corpus->ids + (trained_on ? 0 : corpus->train),
                          .count = trained_on ? corpus->train : corpus->length - corpus->train,
                          .every = every,
                          .counted = trained_on};
    return run_evaluate(workers->run, part, asking ? ask : NULL, asking);
}

/* ---- the first process ---- */

int ask(void *asking) {
    Asking *a = asking;
    a->stopped = a->stopped || (a->stop && a->stop(a->user) != 0);
    return a->stopped;
}

/* True while it shares a run with others. (Alone, threads may open as many as they like.) */
static bool sharing;

static void set_sharing(bool now) {
    if (world_size() > 1) sharing = now;
}

/* Sends the text, unless all have it already: they compare the digests of its ids. */
static bool send_text(const Corpus *corpus, Error *err) {
    Error none = {0};
    const size_t size = corpus->length * sizeof *corpus->ids;
    if (world_size() == 1) return true;
    broadcast((Command){.kind = TEXT,
                        .train = corpus->train,
                        .count = corpus->length,
                        .encoded = digest_bytes(corpus->ids, size)});
    if (world_agree(true, &none)) return true;
    if (!world_agree(true, err)) return false;
    world_broadcast(corpus->ids, size);
    return true;
}

bool workers_open(Workers *workers, Model *model, const RunOptions *options, const Corpus *corpus,
                  Error *err) {
    *workers = (Workers){.model = model, .options = *options, .corpus = corpus};
    workers->options.shared = true;
    if (sharing)
        return fail(err, "several processes share one training run at a time: another one is open");
    if (!send_text(corpus, err)) return false;
    broadcast((Command){.kind = OPEN,
                        .config = model->config,
                        .options = workers->options,
                        .usual_threads = options->threads == run_default_threads()});
    bool ok = open_run(workers, true, err);
    if (!ok) close_run(workers);
    set_sharing(ok);
    return ok;
}

void workers_close(Workers *workers) {
    if (!workers->run) return;
    broadcast((Command){.kind = CLOSE});
    close_run(workers);
    set_sharing(false);
}

void workers_restore(Workers *workers, uint64_t step, const float *first_moments,
                     const float *second_moments) {
    broadcast((Command){.kind = RESTORE, .step = step});
    run_restore(workers->run, step, first_moments, second_moments);
}

Step workers_step(Workers *workers, uint64_t step, int window, const Optimizer *optimizer) {
    double begun = clock_seconds();
    broadcast((Command){.kind = STEP, .step = step, .window = window, .optimizer = *optimizer});
    Step taken = take_step(workers, step, window, optimizer);
    workers->seconds += clock_seconds() - begun;
    return taken;
}

bool workers_evaluate(Workers *workers, bool trained_on, size_t characters, Asking *asking,
                      double *loss, Error *err) {
    const Corpus *corpus = workers->corpus;
    const size_t count = trained_on ? corpus->train : corpus->length - corpus->train;
    const size_t every = characters > 0 ? (count - 1) / characters + 1 : 1;
    broadcast((Command){.kind = EVALUATE, .trained_on = trained_on, .every = every});
    if (!same_weights(workers, err)) return false;
    *loss = evaluate(workers, trained_on, every, asking);
    return true;
}

void workers_collect(Workers *workers) {
    broadcast((Command){.kind = COLLECT});
    run_collect(workers->run);
}

/* ---- a worker ---- */

typedef struct {
    Corpus corpus;    /* only ids, length and train */
    uint64_t encoded; /* digest of the last TEXT */
    Model model;
    Workers part; /* this process's */
} Worker;

static void receive_text(Worker *w, const Command *command) {
    Error err = {0};
    Corpus *c = &w->corpus;
    bool known = c->ids && w->encoded == command->encoded && c->train == command->train &&
                 c->length == command->count;
    if (world_agree(known || fail(&err, "another text"), &err)) return;
    memory_free(c->ids);
    *c = (Corpus){.train = command->train, .length = command->count};
    w->encoded = command->encoded;
    bool ok = memory_alloc(&c->ids, c->length, sizeof *c->ids, "the text", &err);
    if (world_agree(ok, &err)) world_broadcast(c->ids, c->length * sizeof *c->ids);
}

static void close_worker(Worker *w) {
    close_run(&w->part);
    model_free(&w->model);
}

static void open_worker(Worker *w, const Command *command) {
    Error err = {0};
    assert(!w->part.run); /* one at a time */
    w->part = (Workers){.model = &w->model, .options = command->options, .corpus = &w->corpus};
    if (command->usual_threads) w->part.options.threads = run_default_threads();
    bool built = model_build(&w->model, &command->config, 0, &err);
    if (!open_run(&w->part, built, &err)) close_worker(w);
}

static void execute(Worker *w, const Command *command) {
    Error err = {0};
    switch (command->kind) {
        case TEXT: receive_text(w, command); break;
        case OPEN: open_worker(w, command); break;
        case CLOSE: close_worker(w); break;
        case RESTORE: run_restore(w->part.run, command->step, NULL, NULL); break;
        case STEP: take_step(&w->part, command->step, command->window, &command->optimizer); break;
        case EVALUATE:
            assert(w->part.model); /* the first process has opened one */
            if (same_weights(&w->part, &err))
                evaluate(&w->part, command->trained_on, command->every, NULL);
            break;
        case COLLECT: run_collect(w->part.run); break;
        case SHUTDOWN: break;
    }
}

/* ---- the processes of tril.h ---- */

static bool met; /* all processes run the same build */

TrilStatus tril_processes_join(int *number, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    char build[64] = {0};
    if (!number) return null_argument(error);
    if (!world_join(number, err)) return failed(TRIL_ARGUMENT, err);
    snprintf(build, sizeof build, "tril %s, %zu", TRIL_VERSION, sizeof(Command));
    met = same(build, sizeof build, "is another build of the program than the first one's", err);
    return outcome(met, TRIL_ARGUMENT, err);
}

void tril_processes_serve(void) {
    Worker worker = {0};
    Command command;
    if (world_rank() == 0) return;
    do {
        world_broadcast(&command, sizeof command);
        execute(&worker, &command);
    } while (command.kind != SHUTDOWN);
    close_worker(&worker);
    memory_free(worker.corpus.ids);
}

void tril_processes_leave(void) {
    if (met && world_rank() == 0) broadcast((Command){.kind = SHUTDOWN});
    world_leave();
}

int tril_processes_count(void) {
    return world_size();
}

TrilTraffic tril_processes_traffic(void) {
    const Traffic traffic = world_traffic();
    return (TrilTraffic){traffic.bytes, traffic.seconds};
}
