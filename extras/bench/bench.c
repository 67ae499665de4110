/* bench.c - measures the processor's peak, and training as a share of it: `make bench`.
 *
 * First measures the peak, then whole training steps. Prints the median, the spread (slowest to
 * fastest) and the share of the peak. A processor lowers its clock under load, so the peak is
 * measured again, briefly and on all threads, after each training step. ./train --profile prints
 * the speed of each part of a step. */
#include "base/clock.h"
#include "base/random.h"
#include "model/kernels/products.h"
#include "model/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 9 };

static int threads;
static const Isa *isa;
static double peak; /* GFLOP/s of one thread */

static void fail_with(const Error *err) {
    fprintf(stderr, "bench: %s\n", err->text);
    exit(EXIT_FAILURE);
}

/* ---- the peak: multiply-adds in registers and nothing else ---- */

/* A loop for each vector width: `sums` accumulators of `bytes` each, independent of each other and
 * enough to keep every execution unit busy. Compiled with fused multiply-adds. */
#define LOOP(name, target, bytes, sums)                                                     \
    typedef float Vector_##name __attribute__((vector_size(bytes)));                        \
    target static double name(int rounds, float *kept) {                                    \
        Vector_##name sum[sums], factor, term;                                              \
        for (int i = 0; i < (int)(bytes / sizeof(float)); i++) factor[i] = 0.5f;            \
        term = factor;                                                                      \
        _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) sum[i] = factor + (float)i; \
        double start = clock_seconds();                                                     \
        for (int round = 0; round < rounds; round++) {                                      \
            _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) sum[i] =                \
                sum[i] * factor + term;                                                     \
        }                                                                                   \
        double seconds = clock_seconds() - start;                                           \
        _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) *kept += sum[i][0];         \
        return 2.0 * rounds * sums * (bytes / sizeof(float)) / seconds * 1e-9;              \
    }

#if defined __x86_64__
LOOP(avx512, __attribute__((target("avx512f,fma"))), 64, 12)
LOOP(avx2, __attribute__((target("avx2,fma"))), 32, 12)
LOOP(base, , 16, 8)
#else
LOOP(base, , 16, 24)
#endif

/* Returns float32 GFLOP/s of the calling thread with the registers that the kernels use, in
 * `rounds` rounds of a few nanoseconds each. */
static double peak_float32(int rounds) {
    float sum = 0;
    double gflops = 0;
#if defined __x86_64__
    if (strncmp(isa->name, "avx512", strlen("avx512")) == 0)
        gflops = avx512(rounds, &sum);
    else if (strcmp(isa->name, "avx2") == 0)
        gflops = avx2(rounds, &sum);
    else
#endif
        gflops = base(rounds, &sum);
    volatile float kept = sum; /* keeps the compiler from removing the sums */
    (void)kept;
    return gflops;
}

static void peak_work(const Thread *thread, void *each) {
    ((double *)each)[thread->index] = peak_float32(40000);
}

static double peak_of_all(Team *team, int on) {
    double each[TRIL_MAX_THREADS] = {0}, sum = 0; /* there may be fewer threads than requested */
    team_run(team, on, peak_work, each);
    for (int i = 0; i < on; i++) sum += each[i];
    return sum;
}

/* ---- training steps ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the numbers, and returns the median. */
static double median_of(double *numbers, int count) {
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return numbers[count / 2];
}

static void train_step(Run *run, const int32_t *ids, int B, int T) {
    static const Optimizer optimizer = {
        .learning_rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    run_forward_training(run, ids, B, T, NULL);
    run_backward(run, ids + 1);
    run_update(run, &optimizer);
}

/* Times steps of B windows of random tokens for `budget` seconds. */
static void bench_step(const Config *config, int B, int on, Precision precision, double budget) {
    enum { MAX = 200, MIN = 3 };
    Error err;
    Model model;
    Run *run;
    Team *team;
    RunOptions options = {
        .batch = B, .length = config->T, .training = true, .threads = on, .precision = precision};
    size_t tokens = (size_t)B * (size_t)config->T;
    int32_t *ids = calloc(tokens + 1, sizeof *ids);
    if (!ids) exit(EXIT_FAILURE);
    for (size_t i = 0; i <= tokens; i++)
        ids[i] = (int32_t)(random_uniform(2, (uint64_t)i) * config->V);
    if (!model_build(&model, config, 1, &err) || !run_open(&run, &model, &options, &err) ||
        !team_open(&team, isa, &float32_products, on, 0, &err))
        fail_with(&err);
    double seconds[MAX], peaks[MAX], began = clock_seconds();
    int steps = 0;
    for (int step = -1; step < MAX && (steps < MIN || clock_seconds() - began < budget); step++) {
        double start = clock_seconds();
        train_step(run, ids, B, config->T);
        if (step < 0) continue; /* warming up */
        seconds[steps] = clock_seconds() - start;
        peaks[steps++] = peak_of_all(team, on);
    }
    bool table = strcmp(config->model, "gpt") == 0;
    size_t positions = table ? (size_t)config->T * (size_t)config->C : 0;
    double operations = (double)tokens * (6.0 * (double)(model.parameters - positions) +
                                          12.0 * config->L * config->T * config->C);
    char what[64];
    snprintf(what, sizeof what, "%s C%d T%d B%d %s x%d", config->model, config->C, config->T, B,
             precision == BFLOAT16 ? "bf16" : "f32", on);
    double median = median_of(seconds, steps), gflops = operations / median * 1e-9;
    printf("  %-30s %10.0f tokens/s  (%.0f to %.0f)  %6.1f GFLOP/s  %5.1f%%", what,
           (double)tokens / median, (double)tokens / seconds[steps - 1],
           (double)tokens / seconds[0], gflops, 100 * gflops / (peak * on));
    printf(", of the peak then %5.1f%%\n", 100 * gflops / median_of(peaks, steps));
    team_close(team);
    run_close(run);
    model_free(&model);
    free(ids);
}

/* Times a configuration in float32 on all threads and on one, and in bfloat16 if the processor has
 * it. */
static void bench_steps(const Config *config, int B, double budget) {
    const Products *tables[BF16_MAX];
    bench_step(config, B, threads, FLOAT32, budget);
    if (threads > 1) bench_step(config, B, 1, FLOAT32, budget);
    if (bf16_available(tables) > 0) bench_step(config, B, threads, BFLOAT16, budget);
}

int main(void) {
    const Config small = {.model = "gpt", .V = 65, .L = 4, .NH = 4, .C = 128, .T = 64},
                 large = {.model = "gpt", .V = 65, .L = 6, .NH = 6, .C = 384, .T = 256},
                 modern = {.model = "modern", .V = 65, .L = 4, .NH = 4, .C = 128, .T = 128};
    Error err;
    double found[REPEATS];
    isa = isa_choose(&err);
    if (!isa) fail_with(&err);
    threads = run_default_threads();
    for (int i = 0; i < REPEATS; i++) found[i] = peak_float32(400000);
    peak = median_of(found, REPEATS);
    printf("peak: %.1f GFLOP/s a thread in float32 (%.1f to %.1f); %s kernels, %d threads\n", peak,
           *found, found[REPEATS - 1], isa->name, threads);
    puts("\ntraining steps on x threads (operations: 6 for each parameter but the positions, and "
         "12 L T C, a token)");
    bench_steps(&small, 12, 2);
    bench_steps(&large, 16, 6);
    bench_steps(&modern, 16, 2);
    return EXIT_SUCCESS;
}
