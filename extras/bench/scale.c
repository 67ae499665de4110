/* scale.c - the time of a training step on several processes (docs/scale.md):
 *
 *     mpirun -n 4 build/mpi/extras/bench/scale LAYERS HEADS WIDTH CONTEXT BATCH
 * Measures alternately: each process computes its part of a step without communication; all
 * messages of a step without computation; and a whole training step, in which both overlap. Prints
 * a line of CSV: the medians in seconds, and the bytes that a process begins to send. */
#include "base/clock.h"
#include "base/world.h"
#include "model/engine/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 7, V = 65 };

typedef struct {
    Model model;
    Run *run;
    int32_t *ids;
    int count, T; /* sequences of this process, and tokens of each */
} Bench;

static const Optimizer optimizer = {.learning_rate = 1e-4,
                                    .beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-8,
                                    .matrix_rate = 1e-3,
                                    .momentum = 0.95,
                                    .clip = 1};

/* ---- a step, and its parts ---- */

static void train(Bench *b) {
    run_forward_training(b->run, b->ids, b->count, b->T, NULL);
    run_backward(b->run, b->ids + 1);
    run_update(b->run, &optimizer);
}

static void compute(Bench *b) {
    b->run->options.shared = false;
    train(b);
    b->run->options.shared = b->run->buckets;
}

static void send_gradients(Bench *b) {
    for (int l = b->model.config.L - 1; l >= NO_BLOCK && b->run->buckets; l--) /* none alone */
        buckets_send(b->run->buckets, l);
    world_wait();
}

static void send_weights(Bench *b) {
    if (b->run->buckets) buckets_share(b->run->buckets, b->model.weights);
}

/* Sends what ./train asks the first process in a step: twice the time, and whether to stop. */
static void send_questions(void) {
    for (int i = 0; i < 3; i++) world_first(true);
}

/* Sends all else of a step: these, the loss and the parts of the norm. */
static void send_rest(Bench *b) {
    enum { CHUNK = 4096 };
    double loss = 0;
    send_questions();
    world_allreduce(&loss, 1);
    world_allreduce(b->run->squares, b->model.parameters / CHUNK);
}

static void step(Bench *b) {
    send_questions();
    train(b);
}

/* ---- times ---- */

static void (*const ways[])(Bench *) = {compute, send_gradients, send_weights, send_rest, step};
enum { WAYS = sizeof ways / sizeof *ways };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the time of the slowest process. */
static double time_way(Bench *b, void (*way)(Bench *), Error *err) {
    world_agree(true, err); /* waits for all processes */
    double begun = clock_seconds();
    way(b);
    world_agree(true, err);
    return clock_seconds() - begun;
}

static void measure(Bench *b, double medians[WAYS], double *bytes, Error *err) {
    double seconds[WAYS][REPEATS];
    for (int i = 0; i < WAYS; i++) time_way(b, ways[i], err);
    Traffic before = world_traffic();
    step(b);
    *bytes = world_traffic().bytes - before.bytes;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int i = 0; i < WAYS; i++) seconds[i][repeat] = time_way(b, ways[i], err);
    for (int i = 0; i < WAYS; i++) {
        qsort(seconds[i], REPEATS, sizeof *seconds[i], by_size);
        medians[i] = seconds[i][REPEATS / 2];
    }
}

static bool prepare(Bench *b, char **argv, Error *err) {
    Config config = {.model = "modern",
                     .V = V,
                     .L = atoi(argv[1]),
                     .NH = atoi(argv[2]),
                     .C = atoi(argv[3]),
                     .T = atoi(argv[4])};
    RunOptions options = {.batch = atoi(argv[5]),
                          .length = config.T,
                          .training = true,
                          .threads = run_default_threads(),
                          .precision = run_default_precision(),
                          .shared = true};
    size_t tokens = (size_t)options.batch * (size_t)options.length;
    b->T = config.T;
    b->ids = malloc((tokens + 1) * sizeof *b->ids);
    if (!b->ids) return fail(err, "no memory for a batch");
    for (size_t i = 0; i <= tokens; i++) b->ids[i] = (int32_t)(i * 7 % V);
    int first;
    if (!model_build(&b->model, &config, 1, err) || !run_open(&b->run, &b->model, &options, err))
        return false;
    b->count = run_part(b->run, &first);
    return true;
}

int main(int argc, char **argv) {
    Error err = {0};
    Bench b = {0};
    double t[WAYS], bytes;
    if (argc != 6) {
        fputs("usage: scale LAYERS HEADS WIDTH CONTEXT BATCH\n", stderr);
        return 2;
    }
    bool ok = world_join(&err) && world_agree(prepare(&b, argv, &err), &err);
    if (ok) measure(&b, t, &bytes, &err);
    if (ok)
        printf("%d,%zu,%d,%d,%.0f,%.6f,%.6f,%.6f,%.6f,%.6f\n", world_size(), b.model.parameters,
               b.count * b.T, b.run->buckets ? buckets_number(b.run->buckets) : 0, bytes, t[0],
               t[1], t[2], t[3], t[4]);
    if (!ok) world_blame(&err);
    if (!ok) fprintf(stderr, "scale: %s\n", err.text);
    run_close(b.run);
    model_free(&b.model);
    free(b.ids);
    const int status = ok ? EXIT_SUCCESS : EXIT_FAILURE;
    world_leave(status);
    return status;
}
