/* cores.c - predicts how a training step scales to more cores than this machine has
 * (docs/performance.md, "Beyond two cores"):
 *
 *     make build/extras/bench/cores && build/extras/bench/cores
 *
 * Measures the time of each part of a step on one thread. Then it walks through the schedule of the
 * run as a number of threads would, with the same functions that divide the work, and gives each
 * thread the time of its share. At a barrier all wait for the slowest. The prediction leaves out
 * that cores share the clock, caches and memory, but counts the bytes that travel between them. */
#include "base/random.h"
#include "model/engine/inside.h"
#include "model/engine/muon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, KINDS = 64, STEPS = 6 };

/* A barrier between sixteen threads, in seconds: between two it takes 0.2e-6 to 0.5e-6. */
static const double barrier_cost = 1e-6;

/* All instructions of one name, or another part of a step. */
typedef struct {
    const char *name;
    double seconds; /* measured on one thread, for a step */
    double weight;  /* the weights of all its pieces; each takes its share of the seconds */
    double slowest; /* seconds, if threads waited for each other after each piece */
} Kind;

typedef struct {
    Run *run;
    const Run *x; /* the run's */
    Thread team[MOST];
    int threads;
    Kind kinds[KINDS];
    int kind_count;
    double multiply, copy; /* in gradients of weights: seconds of a multiply-add, and of packing a
                              number */
    double clocks[MOST];   /* seconds of each thread since the last barrier */
    double elapsed;
    int barriers;
    double packed, foreign; /* in gradients of weights: bytes that all threads pack; in all steps:
                               bytes that they read where other threads wrote */
} Walk;

/* ---- weights ---- */

static Kind *find_kind(Walk *w, const char *name) {
    for (int i = 0; i < w->kind_count; i++)
        if (strcmp(w->kinds[i].name, name) == 0) return &w->kinds[i];
    w->kinds[w->kind_count] = (Kind){.name = name};
    return &w->kinds[w->kind_count++];
}

static double tokens_of(const Walk *w) {
    return (double)w->x->pass.B * w->x->pass.T;
}

static int slice_of(const Walk *w) {
    return execute_slice(w->x->products, (size_t)tokens_of(w), w->threads, SLICE_MAX);
}

/* Returns the weight of an instruction: for a linear layer its multiply-adds for a token, as many
 * as its weights; for others the numbers that they touch. */
static double weight_of(const Instruction *at) {
    double in = 0, out = 0;
    if (strncmp(at->operation->name, "linear", 6) == 0 || at->operation->reduces)
        return (double)at->inputs[0].width *
               (at->inputs[1].id ? at->inputs[1].width : at->outputs[0].width);
    for (int i = 0; i < MAX_INPUTS; i++) in += at->inputs[i].width;
    for (int i = 0; i < MAX_OUTPUTS; i++) out += at->outputs[i].width;
    return in + out;
}

/* Returns the numbers that a thread packs for its part of a gradient, for each token, as accumulate
 * in matmul.c does. */
static double packed_by(Part part) {
    int blocks = (part.columns + MATMUL_COLUMNS - 1) / MATMUL_COLUMNS;
    return part.rows > 0 ? part.columns + (double)part.rows * blocks : 0;
}

static Part part_of(const Walk *w, const Instruction *at, const Thread *thread) {
    const Isa *isa = w->x->isa;
    return team_part(thread, at->inputs[0].width, at->inputs[1].width, isa->tile_rows,
                     isa->tile_columns);
}

/* ---- walking ---- */

static void wait_for_all(Walk *w) {
    double most = 0;
    for (int t = 0; t < w->threads; t++) {
        if (w->clocks[t] > most) most = w->clocks[t];
        w->clocks[t] = 0;
    }
    w->elapsed += most + (w->threads > 1 ? barrier_cost : 0);
    w->barriers++;
}

/* Lets each thread work for seconds[thread] on a piece of that kind. */
static void work(Walk *w, Kind *kind, const double *seconds) {
    double most = 0;
    for (int t = 0; t < w->threads; t++) {
        w->clocks[t] += seconds[t];
        if (seconds[t] > most) most = seconds[t];
    }
    kind->slowest += most;
}

/* Divides a piece of `count` equal items among the threads. */
static void work_shares(Walk *w, Kind *kind, double weight, size_t count, size_t grain) {
    double seconds[MOST];
    for (int t = 0; t < w->threads; t++) {
        Share share = team_share(&w->team[t], count, grain);
        seconds[t] = kind->seconds * weight / kind->weight * (double)(share.end - share.begin) /
                     (double)count;
    }
    work(w, kind, seconds);
}

static void work_gradients(Walk *w, const Instruction *at) {
    double seconds[MOST] = {0}, tokens = tokens_of(w) / 2;
    for (int t = 0; t < w->threads; t++)
        for (int half = 0; half < 2; half++) {
            Thread member;
            if (!team_half(&w->team[t], half, &member)) continue;
            Part part = part_of(w, at, &member);
            double numbers = packed_by(part) * tokens;
            seconds[t] += numbers * w->copy + tokens * part.rows * part.columns * w->multiply;
            w->packed += numbers * sizeof(float);
            w->foreign += numbers * sizeof(float) * (member.count - 1) / member.count;
        }
    work(w, find_kind(w, at->operation->name), seconds);
}

static void walk_team(Walk *w, const Instruction *at) {
    const char *name = at->operation->name;
    double read = 0;
    if (at->operation == &gradients_ready) return;
    if (strcmp(name, "linear_gradients") == 0) {
        work_gradients(w, at);
        return;
    }
    const ArrayInfo *arrays = w->x->program.arrays, *first = &arrays[at->inputs[0].id];
    for (int i = 0; i < MAX_INPUTS; i++) {
        const ArrayInfo *info = &arrays[at->inputs[i].id];
        if (info->rows == PER_TOKEN) read += at->inputs[i].width * tokens_of(w);
        if (info->rows == PER_PASS) read += (double)info->width * info->count;
    }
    w->foreign += read * sizeof(float) * (w->threads - 1) / w->threads;
    Kind *kind = find_kind(w, name);
    if (at->NH)
        work_shares(w, kind, weight_of(at), (size_t)w->x->pass.B * (size_t)at->NH, 1);
    else if (first->rows == PER_PASS) /* number by number */
        work_shares(w, kind, weight_of(at), (size_t)first->width * (size_t)first->count, 16);
    else /* gradients of norms and embeddings, by channels */
        work_shares(w, kind, weight_of(at), (size_t)at->inputs[0].width, 16);
}

/* Gives each slice in turn to the thread that is free first, or to its own. */
static void walk_slices(Walk *w, const Phase *phase) {
    size_t tokens = (size_t)tokens_of(w), slice = (size_t)slice_of(w);
    double each = 0, seconds[MOST] = {0}, most = 0;
    for (int i = phase->begin; i < phase->end; i++) {
        const Instruction *at = &w->x->program.list[i];
        Kind *kind = find_kind(w, at->operation->name);
        each += kind->seconds * weight_of(at) / kind->weight;
    }
    for (int t = 0; t < w->threads; t++) {
        Share share = team_share(&w->team[t], tokens, slice);
        if (!phase->any) seconds[t] = each * (double)(share.end - share.begin) / (double)tokens;
    }
    for (size_t first = 0; first < tokens && phase->any; first += slice) {
        int min = 0;
        for (int t = 1; t < w->threads; t++)
            if (w->clocks[t] + seconds[t] < w->clocks[min] + seconds[min]) min = t;
        size_t count = tokens - first < slice ? tokens - first : slice;
        seconds[min] += each * (double)count / (double)tokens;
    }
    for (int t = 0; t < w->threads; t++) {
        w->clocks[t] += seconds[t];
        if (seconds[t] > most) most = seconds[t];
    }
    Kind *slices = find_kind(w, "slices of tokens");
    slices->seconds += each;
    slices->slowest += most;
}

static void walk_phases(Walk *w, int begin, int end) {
    for (int i = begin; i < end; i++) {
        const Phase *phase = &w->x->schedule.phases[i];
        if (phase->barrier) wait_for_all(w);
        if (phase->team)
            walk_team(w, &w->x->program.list[phase->begin]);
        else
            walk_slices(w, phase);
    }
}

static void walk_packing(Walk *w) {
    const Model *model = w->x->model;
    Kind *kind = find_kind(w, "packing of weights");
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (w->x->packed_offsets[i] == SIZE_MAX) continue;
        size_t panels = ((size_t)tensor->shape[0] + 15) / 16;
        work_shares(w, kind, (double)tensor->size / 2, panels, 1);
    }
    wait_for_all(w);
}

static void walk_update(Walk *w) {
    const Model *model = w->x->model;
    Kind *norm = find_kind(w, "norm of the gradient"), *adamw = find_kind(w, "AdamW");
    Kind *muon = find_kind(w, "Muon");
    double seconds[MOST] = {0};
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        size_t chunks = tensor->sparse ? (size_t)tensor->shape[0] : (tensor->size + 4095) / 4096;
        work_shares(w, norm, (double)tensor->size, chunks, 1);
    }
    wait_for_all(w);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        size_t chunks = tensor->sparse ? (size_t)tensor->shape[0] : (tensor->size + 4095) / 4096;
        if (!tensor->muon) {
            work_shares(w, adamw, (double)tensor->size, chunks, 1);
            continue;
        }
        int min = 0;
        for (int t = 1; t < w->threads; t++)
            if (seconds[t] < seconds[min]) min = t;
        seconds[min] += muon->seconds *
                        muon_work(w->x->products, tensor->shape[0], tensor->shape[1]) /
                        muon->weight;
    }
    work(w, muon, seconds);
    wait_for_all(w);
}

/* Predicts a step with that many threads. */
static void walk(Walk *w, int threads) {
    const Schedule *s = &w->x->schedule;
    w->threads = threads;
    w->elapsed = w->packed = w->foreign = 0;
    w->barriers = 0;
    for (int i = 0; i < w->kind_count; i++) w->kinds[i].slowest = 0;
    find_kind(w, "slices of tokens")->seconds = 0;
    for (int t = 0; t < threads; t++)
        w->team[t] =
            (Thread){.isa = w->x->isa, .products = w->x->products, .index = t, .count = threads};
    walk_packing(w);
    walk_phases(w, 0, s->backward);
    wait_for_all(w);
    work_shares(w, find_kind(w, "cross_entropy"), 1, (size_t)tokens_of(w), (size_t)slice_of(w));
    wait_for_all(w);
    walk_packing(w);
    walk_phases(w, s->backward, s->phase_count);
    wait_for_all(w);
    walk_update(w);
}

/* ---- measuring ---- */

static void weigh(Walk *w) {
    const Run *x = w->x;
    double numbers = 0, multiplied = 0;
    w->threads = 1;
    w->team[0] = (Thread){.isa = x->isa, .products = x->products, .count = 1};
    for (int i = 0; i < x->program.count; i++) {
        const Instruction *at = &x->program.list[i];
        find_kind(w, at->operation->name)->weight += weight_of(at);
        if (strcmp(at->operation->name, "linear_gradients") != 0) continue;
        numbers += packed_by(part_of(w, at, &w->team[0])) * tokens_of(w);
        multiplied += weight_of(at) * tokens_of(w);
    }
    for (int i = 0; i < x->model->tensor_count; i++) {
        const Tensor *tensor = &x->model->tensors[i];
        double size = (double)tensor->size;
        find_kind(w, "norm of the gradient")->weight += size;
        if (x->packed_offsets[i] != SIZE_MAX) find_kind(w, "packing of weights")->weight += size;
        if (tensor->muon)
            find_kind(w, "Muon")->weight +=
                muon_work(x->products, tensor->shape[0], tensor->shape[1]);
        else
            find_kind(w, "AdamW")->weight += size;
    }
    find_kind(w, "cross_entropy")->weight = 1;
    /* a multiply-add takes as long as in the forward pass; the rest of the time is packing */
    const Kind *forward = find_kind(w, "linear"), *gradients = find_kind(w, "linear_gradients");
    w->multiply = forward->seconds / (forward->weight * tokens_of(w));
    w->copy = (gradients->seconds - multiplied * w->multiply) / numbers;
    if (w->copy < 0) w->copy = 0;
}

/* Measures each part of a step on one thread: the least of several steps, as other programs may
 * share the machine. */
static bool measure(Walk *w, const int32_t *ids, int B, int T, Error *err) {
    static const Optimizer optimizer = {.learning_rate = 1e-4,
                                        .beta1 = 0.9,
                                        .beta2 = 0.99,
                                        .epsilon = 1e-8,
                                        .matrix_rate = 1e-4,
                                        .momentum = 0.9};
    Run *run = w->run;
    w->x = run;
    for (int step = 0; step < STEPS; step++) {
        ProfileLine lines[KINDS];
        if (!run_profile(run, err)) return false;
        run_forward_training(run, ids, B, T);
        run_loss(run, ids + 1);
        run_backward(run, ids + 1);
        run_update(run, &optimizer);
        int count = run_profile_lines(run, lines, KINDS);
        for (int i = 0; i < count; i++) {
            Kind *kind = find_kind(w, lines[i].name);
            if (kind->seconds == 0 || lines[i].seconds < kind->seconds)
                kind->seconds = lines[i].seconds;
        }
    }
    weigh(w);
    return true;
}

/* ---- printing ---- */

static void print_kind(Walk *w, const char *name, double one, const int *threads, int count) {
    double seconds = find_kind(w, name)->seconds;
    if (seconds == 0) return;
    printf("  %-22s %5.1f %%", name, 100 * seconds / one);
    for (int i = 0; i < count; i++) {
        walk(w, threads[i]);
        Kind *kind = find_kind(w, name);
        printf("  %6.2f", kind->slowest * threads[i] / kind->seconds);
    }
    putchar('\n');
}

static void print(Walk *w) {
    static const int threads[] = {1, 2, 4, 6, 8, 12, 16};
    enum { COUNT = sizeof threads / sizeof *threads };
    static const char *const names[] = {"slices of tokens",
                                        "attention",
                                        "attention_backward",
                                        "linear_gradients",
                                        "reduce_gradients",
                                        "layernorm_gradients",
                                        "rmsnorm_gradients",
                                        "embedding_gradients",
                                        "packing of weights",
                                        "cross_entropy",
                                        "norm of the gradient",
                                        "AdamW",
                                        "Muon"};
    walk(w, 1);
    double one = w->elapsed;
    printf("  a step on one thread: %.1f ms\n", one * 1e3);
    printf("  threads                        ");
    for (int i = 0; i < COUNT; i++) printf("  %6d", threads[i]);
    printf("\n  part, and its share: the slowest thread's time against an equal share of one's\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        print_kind(w, names[i], one, threads, COUNT);
    for (int row = 0; row < 5; row++) {
        static const char *const rows[] = {"tokens in a block", "barriers",
                                           "MB packed for gradients", "MB from other threads",
                                           "times as fast"};
        printf("  %-29s  ", rows[row]);
        for (int i = 0; i < COUNT; i++) {
            walk(w, threads[i]);
            const double values[] = {slice_of(w), w->barriers, w->packed * 1e-6, w->foreign * 1e-6,
                                     one / w->elapsed};
            printf(row < 2 ? "%6.0f  " : row == 4 ? "%6.2f  " : "%6.1f  ", values[row]);
        }
        putchar('\n');
    }
}

static bool predict(const Config *config, int B, Error *err) {
    Model model;
    Walk w = {0};
    RunOptions options = {.batch = B, .length = config->T, .training = true, .threads = 1};
    size_t tokens = (size_t)B * (size_t)config->T;
    int32_t *ids = malloc((tokens + 1) * sizeof *ids);
    if (!ids) return fail(err, "no memory for a batch");
    for (size_t i = 0; i <= tokens; i++)
        ids[i] = (int32_t)(random_uniform(2, (uint64_t)i) * config->V);
    bool ok = model_build(&model, config, 1, err) && run_open(&w.run, &model, &options, err) &&
              measure(&w, ids, B, config->T, err);
    if (ok) {
        printf("\n%s, L %d, NH %d, C %d, T %d, B %d\n", config->model, config->L, config->NH,
               config->C, config->T, B);
        print(&w);
    }
    run_close(w.run);
    model_free(&model);
    free(ids);
    return ok;
}

int main(void) {
    static const struct {
        Config config;
        int B;
    } sizes[] = {{{.model = "gpt", .V = 65, .L = 4, .NH = 4, .C = 128, .T = 64}, 12},
                 {{.model = "gpt", .V = 65, .L = 6, .NH = 6, .C = 384, .T = 256}, 16},
                 {{.model = "modern", .V = 65, .L = 4, .NH = 4, .C = 128, .T = 128}, 16}};
    Error err;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!predict(&sizes[i].config, sizes[i].B, &err)) {
            fprintf(stderr, "cores: %s\n", err.text);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
