#include "training/crew.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "training/interruption.h"
#include "version.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the first process calls, for the others to do the same. */
typedef struct {
    enum { HAND_OUT, OPEN, CLOSE, RESTORE, STEP, EVALUATE, COLLECT, END } call;
    Config config;       /* OPEN */
    RunOptions options;  /* OPEN */
    bool usual_threads;  /* OPEN: as many as each process has processors */
    size_t from, count;  /* EVALUATE; HAND_OUT: train, length */
    size_t every;        /* EVALUATE */
    uint64_t step;       /* STEP, RESTORE */
    Optimizer optimizer; /* STEP */
} Order;

static void give(Order order) {
    world_tell(&order, sizeof order);
}

/* ---- what all do, the first one and those who follow ---- */

/* Has every process the same `size` bytes as the first one? If not, `what` says what differs. */
static bool same(const void *own, size_t size, const char *what, Error *err) {
    enum { ROOM = 64 };
    char first[ROOM];
    assert(size <= ROOM);
    memcpy(first, own, size);
    world_tell(first, size);
    return world_agree(memcmp(own, first, size) == 0 || fail(err, "%s", what), err);
}

/* What every process updates for itself is to be the same to the bit. */
static bool same_kernels(const Crew *crew, Error *err) {
    char name[32] = {0};
    snprintf(name, sizeof name, "%s", run_kernels(crew->run));
    return same(
        name, sizeof name,
        "computes with other kernels than the first one; KERNELS=base in the environment of "
        "each makes them the same",
        err);
}

static bool open_run(Crew *crew, bool ok, Error *err) {
    int first;
    ok = ok && run_open(&crew->run, crew->model, &crew->options, err);
    size_t tokens = ok ? (size_t)run_part(crew->run, &first) * (size_t)crew->options.length : 0;
    ok = ok && memory_alloc(&crew->inputs, tokens, sizeof(int32_t), "a batch", err) &&
         memory_alloc(&crew->targets, tokens, sizeof(int32_t), "a batch", err);
    if (!world_agree(ok, err) || !same_kernels(crew, err)) return false;
    world_tell(crew->model->weights, crew->model->room * sizeof(float));
    return true;
}

static void close_run(Crew *crew) {
    run_close(crew->run);
    memory_free(crew->inputs);
    memory_free(crew->targets);
    *crew = (Crew){0};
}

static Step take_step(Crew *crew, uint64_t step, const Optimizer *optimizer) {
    int T = crew->options.length, first, count = run_part(crew->run, &first);
    Step taken = {.norm = NAN};
    batch_shuffled(crew->ids, crew->train, crew->options.batch, T, crew->options.seed, step, first,
                   count, crew->inputs, crew->targets);
    run_forward_training(crew->run, crew->inputs, count, T);
    taken.loss = run_loss(crew->run, crew->targets);
    if (!isfinite(taken.loss)) return taken;
    run_backward(crew->run, crew->targets);
    taken.norm = run_update(crew->run, optimizer);
    return taken;
}

static bool same_weights(const Crew *crew, Error *err) {
    Digest digest = digest_start();
    if (world_size() == 1) return true;
    digest_add(&digest, crew->model->weights, crew->model->room * sizeof(float));
    uint64_t value = digest_value(&digest);
    return same(&value, sizeof value, "its weights differ from the first process's", err);
}

bool crew_meet(Error *err) {
    char build[64] = {0};
    snprintf(build, sizeof build, "tril %s, %zu", TRIL_VERSION, sizeof(Order));
    return same(build, sizeof build, "is another build of the program than the first one's", err);
}

/* ---- the first process ---- */

bool crew_hand_out(const Corpus *corpus, Error *err) {
    give((Order){.call = HAND_OUT, .from = corpus->train, .count = corpus->length});
    if (!world_agree(true, err)) return false;
    world_tell(corpus->ids, corpus->length * sizeof *corpus->ids);
    return true;
}

bool crew_open(Crew *crew, Model *model, const RunOptions *options, const Corpus *corpus,
               Error *err) {
    *crew = (Crew){.model = model, .options = *options, .ids = corpus->ids, .train = corpus->train};
    crew->options.shared = true;
    give((Order){.call = OPEN,
                 .config = model->config,
                 .options = crew->options,
                 .usual_threads = options->threads == run_default_threads()});
    bool ok = open_run(crew, true, err);
    if (!ok) close_run(crew);
    return ok;
}

void crew_close(Crew *crew) {
    if (!crew->run) return;
    give((Order){.call = CLOSE});
    close_run(crew);
}

void crew_restore(Crew *crew, uint64_t step, const float *first_moments,
                  const float *second_moments) {
    give((Order){.call = RESTORE, .step = step});
    run_restore(crew->run, step, first_moments, second_moments);
}

Step crew_step(Crew *crew, uint64_t step, const Optimizer *optimizer) {
    double begun = clock_seconds();
    Traffic before = world_traffic();
    give((Order){.call = STEP, .step = step, .optimizer = *optimizer});
    Step taken = take_step(crew, step, optimizer);
    Traffic after = world_traffic();
    crew->steps++;
    crew->seconds += clock_seconds() - begun;
    crew->traffic.bytes += after.bytes - before.bytes;
    crew->traffic.seconds += after.seconds - before.seconds;
    return taken;
}

bool crew_evaluate(Crew *crew, size_t from, size_t count, size_t every, double *loss, Error *err) {
    give((Order){.call = EVALUATE, .from = from, .count = count, .every = every});
    if (!same_weights(crew, err)) return false;
    *loss = run_evaluate_until(crew->run, crew->ids + from, count, every, interrupted_twice);
    return true;
}

void crew_collect(Crew *crew) {
    give((Order){.call = COLLECT});
    run_collect(crew->run);
}

void crew_dismiss(void) {
    give((Order){.call = END});
}

/* ---- those who follow ---- */

typedef struct {
    int32_t *ids;
    size_t train;
    Model model;
    Crew crew;
} Follower;

static void take_text(Follower *f, const Order *order) {
    Error err = {0};
    memory_free(f->ids);
    f->train = order->from;
    bool ok = memory_alloc(&f->ids, order->count, sizeof *f->ids, "the text", &err);
    if (world_agree(ok, &err)) world_tell(f->ids, order->count * sizeof *f->ids);
}

static void close_follower(Follower *f) {
    close_run(&f->crew);
    model_free(&f->model);
}

static void open_follower(Follower *f, const Order *order) {
    Error err = {0};
    f->crew =
        (Crew){.model = &f->model, .options = order->options, .ids = f->ids, .train = f->train};
    if (order->usual_threads) f->crew.options.threads = run_default_threads();
    bool built = model_build(&f->model, &order->config, 0, &err);
    if (!open_run(&f->crew, built, &err)) close_follower(f);
}

static void evaluate_part(Follower *f, const Order *order) {
    Error err = {0};
    assert(f->crew.model); /* the first process has opened one */
    if (same_weights(&f->crew, &err))
        run_evaluate_until(f->crew.run, f->ids + order->from, order->count, order->every, NULL);
}

static void obey(Follower *f, const Order *order) {
    switch (order->call) {
        case HAND_OUT: take_text(f, order); break;
        case OPEN: open_follower(f, order); break;
        case CLOSE: close_follower(f); break;
        case RESTORE: run_restore(f->crew.run, order->step, NULL, NULL); break;
        case STEP: take_step(&f->crew, order->step, &order->optimizer); break;
        case EVALUATE: evaluate_part(f, order); break;
        case COLLECT: run_collect(f->crew.run); break;
        case END: break;
    }
}

void crew_follow(void) {
    interruption_ignore(); /* the first process hears of it, too, and says when to end */
    Follower follower = {0};
    Order order;
    do {
        world_tell(&order, sizeof order);
        obey(&follower, &order);
    } while (order.call != END);
    close_follower(&follower);
    memory_free(follower.ids);
}
