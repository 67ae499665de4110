/* bench.c - measures speed, and its share of the processor's peak: `make bench`.
 *
 * First measures the peak: multiply-adds in registers. Then products, layers, whole training steps
 * and generation, each timed several times; and where the time of a training step goes. Prints the
 * median, the spread (fastest to slowest) and the share of the peak. A processor lowers its clock
 * under load, so the peak is measured again, briefly and on all threads, after each training step.
 * The same figures go to bench.csv. */
#include "extras/bench/peak.h"
#include "base/clock.h"
#include "base/random.h"
#include "extras/bench/layer.h"
#include "model/generation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEATS = 9,
    ROWS = 96, /* tokens in a thread's block */
    THREADS_MAX = 1024
};

static int threads;
static const Isa *isa;
static const Products *products;
static double peak; /* GFLOP/s of one thread */
static FILE *csv;

/* ---- timing ---- */

typedef struct {
    double median, min, max; /* seconds */
} Timing;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Timing summarize(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    return (Timing){seconds[count / 2], seconds[0], seconds[count - 1]};
}

/* Times `work` on all threads, REPEATS times. Each time it runs for a few milliseconds. */
static Timing time_work(Team *team, int on, void (*work)(const Thread *, void *), void *argument) {
    double seconds[REPEATS];
    double start = clock_seconds();
    team_run(team, on, work, argument);
    int rounds = 1 + (int)(4e-3 / (clock_seconds() - start + 1e-9));
    for (int i = 0; i < REPEATS; i++) {
        start = clock_seconds();
        for (int round = 0; round < rounds; round++) team_run(team, on, work, argument);
        seconds[i] = (clock_seconds() - start) / rounds;
    }
    return summarize(seconds, REPEATS);
}

/* ---- reporting ---- */

static void fail_with(const Error *err) {
    fprintf(stderr, "bench: %s\n", err->text);
    exit(EXIT_FAILURE);
}

/* Prints a line: a time, and the floating-point operations done in it, unless that is 0. */
static void report(const char *group, const char *what, Timing t, double operations, int on) {
    double gflops = operations / t.median * 1e-9, share = gflops / (peak * on);
    printf("  %-30s %10.1f us  (%.1f to %.1f)", what, t.median * 1e6, t.min * 1e6, t.max * 1e6);
    if (operations > 0) printf("  %6.1f GFLOP/s  %5.1f %%", gflops, 100 * share);
    putchar('\n');
    fprintf(csv, "%s,%s,%d,%.9f,%.9f,%.9f,%.3f,%.4f,\n", group, what, on, t.median, t.min, t.max,
            gflops, share);
}

/* Prints a line: a rate per second, and its share of the peak of all threads at that time, unless
 * that is 0. */
static void report_rate(const char *group, const char *what, Timing t, double things,
                        const char *unit, double operations, int on, double peak_then) {
    double gflops = operations / t.median * 1e-9, share = gflops / (peak * on);
    printf("  %-30s %10.0f %s  (%.0f to %.0f)  %6.1f GFLOP/s  %5.1f %%", what, things / t.median,
           unit, things / t.max, things / t.min, gflops, 100 * share);
    fprintf(csv, "%s,%s,%d,%.9f,%.9f,%.9f,%.3f,%.4f,", group, what, on, t.median, t.min, t.max,
            gflops, share);
    if (peak_then > 0) {
        printf(", of the peak then %5.1f %%", 100 * gflops / peak_then);
        fprintf(csv, "%.4f", gflops / peak_then);
    }
    putchar('\n');
    fputc('\n', csv);
}

/* ---- the layers of a block ---- */

typedef struct {
    const Layer *layer;
    float *packed;
    int in, out;
} Packing;

static void pack_work(const Thread *thread, void *argument) {
    const Packing *p = argument;
    layer_pack(thread, p->packed, p->layer->weights[0].w, p->in, p->out, false);
}

/* Prints a line for each of the layer's instructions: the one at `first`, and `more` after it. */
static void bench_instructions(Team *team, Layer *l, const char *group, const char *name, int first,
                               int more, double operations) {
    l->first = first;
    l->end = first + 1 + more;
    report(group, name, time_work(team, threads, layer_work, l), operations, threads);
}

/* Prints a line for each product of the linear layer C -> OC. */
static void bench_linear(Team *team, const char *group, const char *name, int B, int T, int C,
                         int OC) {
    static const struct {
        const char *what;
        int first, more;
    } parts[] = {{"forward", 0, 0}, {"backward", 1, 0}, {"gradients", 2, 1}};
    char what[64];
    Layer l;
    size_t size = (size_t)C * (size_t)OC;
    Linear w = {.weight = 1, .bias = 2, .in = C, .out = OC};
    layer_open(&l, B, T);
    Array x = program_array(&l.program, C, PER_TOKEN), y = linear(&l.program, x, w);
    l.program.backward = l.program.count;
    linear_backward(&l.program, y, w);
    linear_gradients(&l.program, w, y, x);
    layer_allocate(&l);
    float *packed = layer_numbers(2 * size);
    l.weights[0] = (Param){layer_numbers(size), layer_numbers(size), packed};
    l.weights[1] = (Param){layer_numbers((size_t)OC), layer_numbers((size_t)OC), NULL};
    Packing packing = {&l, packed, C, OC};
    snprintf(what, sizeof what, "%s pack", name);
    report(group, what, time_work(team, threads, pack_work, &packing), 0, threads);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(what, sizeof what, "%s %s", name, parts[i].what);
        bench_instructions(team, &l, group, what, parts[i].first, parts[i].more,
                           2.0 * B * T * (double)size);
    }
    float *all[] = {packed, l.weights[0].w, l.weights[0].dw, l.weights[1].w, l.weights[1].dw};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    layer_close(&l);
}

static void bench_layers(int B, int T, int C, int NH) {
    Error err;
    Team *team;
    char group[64];
    Layer l;
    layer_open(&l, B, T);
    Program *p = &l.program;
    Norm w = {.weight = 1, .bias = 2, .size = C};
    Array qkv = program_array(p, 3 * C, PER_TOKEN), hidden = program_array(p, 4 * C, PER_TOKEN);
    Array out = attention_qkv(p, NH, qkv, NO_DROPOUT), unused;
    Array y = layernorm(p, out, w);
    gelu(p, hidden);
    add(p, out, y);
    p->backward = p->count;
    attention_qkv_backward(p, out, out);
    layernorm_backward(p, out, y, out, w);
    gelu_backward(p, &unused, hidden, hidden);
    layer_allocate(&l);
    for (int i = 0; i < LAYER_WEIGHTS; i++)
        l.weights[i] = (Param){layer_numbers((size_t)C), layer_numbers((size_t)C), NULL};
    size_t scratch = p->list[0].operation->scratch(&p->list[0], isa, products, T);
    if (!team_open(&team, isa, products, threads, scratch, &err)) fail_with(&err);
    snprintf(group, sizeof group, "layer C%d T%d B%d", C, T, B);
    printf("\nlayers of a block, %d x %d tokens, width %d, %d heads, %d threads\n", B, T, C, NH,
           threads);
    bench_linear(team, group, "qkv", B, T, C, 3 * C);
    bench_linear(team, group, "proj", B, T, C, C);
    bench_linear(team, group, "fc", B, T, C, 4 * C);
    bench_linear(team, group, "out", B, T, 4 * C, C);
    static const struct {
        const char *name;
        int instruction;
        double operations; /* per token and channel; for attention those of the unmasked half */
    } others[] = {{"attention forward", 0, 2},
                  {"attention backward", 4, 5},
                  {"norm forward", 1, 0},
                  {"norm backward", 5, 0},
                  {"gelu forward", 2, 0},
                  {"gelu backward", 7, 0},
                  {"sum", 3, 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        bench_instructions(team, &l, group, others[i].name, others[i].instruction, 0,
                           others[i].operations * (double)B * T * (T + 1) * C);
    team_close(team);
    for (int i = 0; i < LAYER_WEIGHTS; i++) {
        free(l.weights[i].w);
        free(l.weights[i].dw);
    }
    layer_close(&l);
}

/* ---- training steps ---- */

/* Measures the peak now, in GFLOP/s of each thread. */
static void peak_work(const Thread *thread, void *each) {
    ((double *)each)[thread->index] = peak_float32(40000);
}

static double peak_of_all(Team *team, int on) {
    double each[THREADS_MAX] = {0}, sum = 0; /* there may be fewer threads than requested */
    team_run(team, on, peak_work, each);
    for (int i = 0; i < on; i++) sum += each[i];
    return sum;
}

/* Opens a training of B windows of random tokens ids[B T + 1]. */
static Run *open_training(Model *model, const Config *config, int B, int on, Precision precision,
                          int32_t **ids) {
    Error err;
    Run *run;
    RunOptions options = {
        .batch = B, .length = config->T, .training = true, .threads = on, .precision = precision};
    if (!model_build(model, config, 1, &err) || !run_open(&run, model, &options, &err))
        fail_with(&err);
    size_t tokens = (size_t)B * (size_t)config->T;
    *ids = calloc(tokens + 1, sizeof **ids);
    if (!*ids) exit(EXIT_FAILURE);
    for (size_t i = 0; i <= tokens; i++)
        (*ids)[i] = (int32_t)(random_uniform(2, (uint64_t)i) * config->V);
    return run;
}

static void train_step(Run *run, const int32_t *ids, int B, int T) {
    static const Optimizer optimizer = {
        .learning_rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    run_forward_training(run, ids, B, T);
    run_loss(run, ids + 1);
    run_backward(run, ids + 1);
    run_update(run, &optimizer);
}

static void bench_step(const Config *config, int B, int on, Precision precision, double budget) {
    enum { MAX = 200, MIN = 3 };
    Error err;
    Model model;
    Team *team;
    int32_t *ids;
    Run *run = open_training(&model, config, B, on, precision, &ids);
    size_t tokens = (size_t)B * (size_t)config->T;
    if (!team_open(&team, isa, products, on, 0, &err)) fail_with(&err);
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
    double each =
        6.0 * (double)(model.parameters - positions) + 12.0 * config->L * config->T * config->C;
    char what[64];
    snprintf(what, sizeof what, "%s C%d T%d B%d %s x%d", config->model, config->C, config->T, B,
             precision == BFLOAT16 ? "bf16" : "f32", on);
    report_rate("step", what, summarize(seconds, steps), (double)tokens, "tokens/s",
                each * (double)tokens, on, summarize(peaks, steps).median);
    team_close(team);
    run_close(run);
    model_free(&model);
    free(ids);
}

/* Prints the share of a step that each kind of instruction took, and its share of the peak speed.
 */
static void bench_profile(const Config *config, int B, double budget) {
    enum { KINDS = 64 };
    Error err;
    Model model;
    int32_t *ids;
    ProfileLine lines[KINDS];
    Run *run = open_training(&model, config, B, threads, FLOAT32, &ids);
    train_step(run, ids, B, config->T);
    if (!run_profile(run, &err)) fail_with(&err);
    double began = clock_seconds(), total = 0;
    int steps = 0, count;
    for (; steps < 3 || clock_seconds() - began < budget; steps++)
        train_step(run, ids, B, config->T);
    count = run_profile_lines(run, lines, KINDS);
    for (int i = 0; i < count; i++) total += lines[i].seconds;
    printf("\nwhere the time of a step of %s goes, C%d T%d B%d, %d threads\n", config->model,
           config->C, config->T, B, threads);
    for (int i = 0; i < count; i++) {
        double rate = lines[i].operations / lines[i].seconds * 1e-9;
        printf("  %-30s %10.1f us  %5.1f %%", lines[i].name, lines[i].seconds / steps * 1e6,
               100 * lines[i].seconds / total);
        if (rate > 0) printf("  %5.1f %% of the peak", 100 * rate / (peak * threads));
        putchar('\n');
        fprintf(csv, "profile %s C%d,%s,%d,%.9f,,,%.3f,,\n", config->model, config->C,
                lines[i].name, threads, lines[i].seconds / steps, rate);
    }
    run_close(run);
    model_free(&model);
    free(ids);
}

static Config gpt_of(int L, int NH, int C, int T) {
    return (Config){.model = "gpt", .V = 65, .L = L, .NH = NH, .C = C, .T = T};
}

/* Times a configuration in float32 on all threads and on one, and in bfloat16 if the processor has
 * it. */
static void bench_configuration(const Config *config, int B, double budget) {
    const Products *tables[BF16_MAX];
    bench_step(config, B, threads, FLOAT32, budget);
    if (threads > 1) bench_step(config, B, 1, FLOAT32, budget);
    if (bf16_available(tables) > 0) bench_step(config, B, threads, BFLOAT16, budget);
}

static void bench_steps(void) {
    Config small = gpt_of(4, 4, 128, 64), large = gpt_of(6, 6, 384, 256),
           modern = gpt_of(4, 4, 128, 128);
    strcpy(modern.model, "modern");
    printf("\ntraining steps on x threads (operations: 6 for each parameter but the positions, and "
           "12 L T C, a token)\n");
    bench_configuration(&small, 12, 2);
    bench_configuration(&large, 16, 6);
    bench_configuration(&modern, 16, 2);
    for (int C = 64; C <= 512; C += C < 128 ? 64 : 128) {
        Config config = gpt_of(4, C / 32, C, 64);
        bench_step(&config, 12, threads, FLOAT32, 1.5);
    }
    bench_profile(&small, 12, 2);
    bench_profile(&large, 16, 6);
    bench_profile(&modern, 16, 2);
}

/* ---- generation ---- */

static void bench_generation(int on) {
    enum { LENGTH = 256, PARTS = 4, ROUNDS = 9 };
    Error err;
    Model model;
    Config config = gpt_of(4, 4, 128, LENGTH);
    Generator generator;
    static const int marks[PARTS + 1] = {1, 64, 128, 192, 256};
    double took[PARTS][ROUNDS], whole[ROUNDS];
    if (!model_build(&model, &config, 1, &err) ||
        !generator_open(&generator, &model, on, INT8_WEIGHTS, &err))
        fail_with(&err);
    printf("\ngeneration, %zu parameters in 8 bits, x%d, by what has gone before\n",
           model.parameters, on);
    for (int round = -1; round < ROUNDS; round++) { /* the first is for warming up */
        int32_t id = 0;
        double all = 0;
        generator_reset(&generator);
        generator_feed(&generator, &id, 1);
        for (int i = 0; i < PARTS; i++) {
            double start = clock_seconds();
            for (int at = marks[i]; at < marks[i + 1]; at++) {
                id = (id * 7 + at) % config.V;
                generator_feed(&generator, &id, 1);
            }
            double seconds = clock_seconds() - start;
            all += seconds;
            if (round >= 0) took[i][round] = seconds / (marks[i + 1] - marks[i]);
        }
        if (round >= 0) whole[round] = all / (LENGTH - 1);
    }
    char what[64];
    double operations = 2.0 * (double)model.parameters;
    for (int i = 0; i < PARTS; i++) {
        snprintf(what, sizeof what, "from %d to %d x%d", marks[i], marks[i + 1], on);
        report_rate("generation", what, summarize(took[i], ROUNDS), 1, "characters/s", operations,
                    on, 0);
    }
    snprintf(what, sizeof what, "from 1 to %d x%d", LENGTH, on);
    report_rate("generation", what, summarize(whole, ROUNDS), 1, "characters/s", operations, on, 0);
    generator_close(&generator);
    model_free(&model);
}

int main(void) {
    Error err;
    double found[REPEATS];
    isa = isa_choose(&err);
    products = &float32_products;
    if (!isa) fail_with(&err);
    threads = run_default_threads();
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    csv = fopen("bench.csv", "w");
    if (!csv) {
        fprintf(stderr, "bench: bench.csv cannot be created\n");
        return EXIT_FAILURE;
    }
    fprintf(csv,
            "group,what,threads,median_s,least_s,most_s,gflops,share_of_peak,share_of_peak_then\n");
    for (int i = 0; i < REPEATS; i++) found[i] = peak_float32(400000);
    Timing rates = summarize(found, REPEATS);
    peak = rates.median;
    printf("peak: %.1f GFLOP/s a thread in float32 (%.1f to %.1f); %s kernels, %d threads\n", peak,
           rates.min, rates.max, isa->name, threads);
    fprintf(csv, "peak,float32,1,,,,%.3f,1,\n", peak);
    bench_layers(12, 64, 128, 4);
    bench_layers(16, 256, 384, 6);
    bench_steps();
    bench_generation(1);
    if (threads > 1) bench_generation(threads);
    fclose(csv);
    puts("\nThe same figures are in bench.csv.");
    return EXIT_SUCCESS;
}
