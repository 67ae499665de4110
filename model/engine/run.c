/* run.c - a run: its parts, its passes, and how many threads a pass is worth. */
#include "model/engine/inside.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "base/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

int useful_threads(double work, int waits, int max) {
    const double apart = 1 << 15; /* multiply-adds that take a few times as long as a barrier */
    double threads = max == 1 ? 1 : work / (apart * waits);
    return threads < 2 ? 1 : threads < max ? (int)threads : max;
}

/* The multiply-adds of the current or last pass. Each token takes one with every weight, and two
 * with each channel of the tokens that it attends to. */
static double work_of_pass(const Run *run) {
    const Model *model = run->model;
    double sight = 2.0 * model->config.L * model->config.C * run->pass.T;
    return (double)run->pass.tokens * ((double)model->parameters + sight);
}

/* ---- opening ---- */

int run_max_threads(void) {
    return min_int(threads_processors(), TRIL_MAX_THREADS);
}

int run_default_threads(void) {
    const char *limit = getenv("OMP_NUM_THREADS");
    long threads = limit ? strtol(limit, NULL, 10) : 0;
    int max = run_max_threads();
    return threads > 0 && threads < max ? (int)threads : max;
}

Precision run_default_precision(void) {
    const char *kernels = getenv("KERNELS");
    return (!kernels || !*kernels) && bf16_pays() ? BFLOAT16 : FLOAT32;
}

/* Reduces the batch to this process's part. Without training, a batch may have fewer sequences than
 * there are processes. */
static bool take_part(Run *run, Error *err) {
    RunOptions *o = &run->options;
    o->shared = o->shared && world_size() > 1;
    int rank = o->shared ? world_rank() : 0, size = o->shared ? world_size() : 1;
    run->whole = o->batch;
    run->before = (int)((int64_t)o->batch * rank / size);
    o->batch = (int)((int64_t)o->batch * (rank + 1) / size) - run->before;
    if (run->whole < size && o->training)
        return fail(err, "a batch of %d is too small for %d processes to share", run->whole, size);
    if (o->batch == 0) o->batch = 1;
    if ((int64_t)o->batch * o->length <= MAX_TOKENS) return true;
    return fail(err,
                "a batch of %d x %d tokens is larger than %d; choose a smaller batch or context",
                o->batch, o->length, MAX_TOKENS);
}

size_t run_tokens(const Run *run) {
    const RunOptions *o = &run->options;
    return (size_t)o->batch * (size_t)(o->slots > 0 ? 1 : o->length);
}

static size_t scratch_of(const Run *run) {
    size_t tape = layout_scratch(run), muon = run->options.training ? update_scratch(run) : 0;
    return tape > muon ? tape : muon;
}

static double bytes_of(size_t floats) {
    return (double)floats * sizeof(float);
}

static bool check_memory(const Run *run, Error *err) {
    const double GiB = 1073741824, has = (double)memory_installed() / world_beside();
    const Config *c = &run->model->config;
    if (run->memory.all <= has) return true;
    return fail_memory(
        err,
        "%s: needs %.1f GiB of memory, but this machine has %.1f%s; choose a smaller "
        "batch%s",
        c->model, run->memory.all / GiB, has / GiB,
        world_beside() > 1 ? " for each of its processes" : "",
        model_has_width(c) ? ", context or width, or fewer layers" : "");
}

/* Makes a run with everything chosen and laid out, if this machine has its memory. */
static bool plan(Run **planned, Model *model, const RunOptions *options, Error *err) {
    Run *run;
    *planned = NULL;
    if (!memory_alloc(&run, 1, sizeof *run, "the run", err)) return false;
    run->options = *options;
    run->model = model;
    run->counts_weight = 1;
    run->isa = isa_choose(err);
    run->products = options->precision == BFLOAT16       ? bf16_choose(err)
                    : options->precision == INT8_WEIGHTS ? &int8_weight_products
                                                         : &float32_products;
    if (!run->isa || !run->products || !take_part(run, err) || !layout_plan(run, err)) {
        run_close(run);
        return false;
    }
    const double counts = (double)ngram_facts(model->ngram).bytes,
                 moments = options->training ? 3 * bytes_of(model->weights_size) : 0,
                 messages = run->options.shared && options->training
                                ? bytes_of(world_buffer_size(model->weights_size, ALL_PROCESSES))
                                : 0,
                 scratch =
                     options->threads * bytes_of(team_scratch(run->products, scratch_of(run)));
    RunMemory *m = &run->memory;
    m->weights = bytes_of(model->weights_size + run->packed_size);
    m->activations =
        bytes_of(run->schedule.size + run_tokens(run)) + WINDOWS_AT_ONCE * sizeof(double);
    m->all = m->weights + m->activations + counts + moments + messages + scratch;
    if (!check_memory(run, err)) {
        run_close(run);
        return false;
    }
    *planned = run;
    return true;
}

/* Opens this process's part of a run. */
static bool open_part(Run **opened, Model *model, const RunOptions *options, Error *err) {
    Run *run;
    *opened = NULL;
    if (!plan(&run, model, options, err)) return false;
    if (!team_open(&run->team, run->isa, run->products, options->threads, scratch_of(run), err) ||
        (options->training && !update_open(run, err)) || !layout_allocate(run, err) ||
        !memory_alloc(&run->losses, run_tokens(run), sizeof(float), "the losses", err) ||
        !memory_alloc(&run->sums, WINDOWS_AT_ONCE, sizeof(double), "the losses", err)) {
        run_close(run);
        return false;
    }
    if (!options->training && !options->packed_by)
        team_run(run->team, useful_threads((double)run->packed_size, 1, options->threads),
                 execute_packing, run);
    *opened = run;
    return true;
}

/* Returns true if every process has opened its part, and computes with the same kernels. `run` is
 * NULL if this one has not. */
static bool agrees(const Run *run, Error *err) {
    if (!world_agree(run != NULL, err) || !run) return false;
    const char *name = run->isa->name;
    return world_same(digest_bytes(name, strlen(name)) + run->options.precision,
                      "computes with other kernels than the first process; KERNELS=base in the "
                      "environment of each makes them the same",
                      err);
}

bool run_open(Run **opened, Model *model, const RunOptions *options, Error *err) {
    assert(!options->training || (options->precision != INT8_WEIGHTS && options->slots == 0));
    assert(options->dropout >= 0 && options->dropout < 1);
    assert(options->threads >= 1 && options->threads <= TRIL_MAX_THREADS);
    assert(options->batch >= 1 && options->length >= 1 && options->length <= model->config.T);
    const bool ok = open_part(opened, model, options, err);
    if (options->shared ? agrees(*opened, err) : ok) return true;
    run_close(*opened);
    *opened = NULL;
    return false;
}

bool run_estimate(const Config *config, const RunOptions *options, RunMemory *memory, Error *err) {
    Model model;
    Run *run = NULL;
    bool ok = model_lay_out(&model, config, err) && plan(&run, &model, options, err);
    if (ok) *memory = run->memory;
    run_close(run);
    model_free(&model);
    return ok;
}

void run_close(Run *run) {
    if (!run) return;
    update_close(run);
    tape_close(&run->tape);
    schedule_close(&run->schedule);
    team_close(run->team);
    memory_free(run->params);
    memory_free(run->packed_offsets);
    if (!run->options.packed_by) memory_free(run->packed);
    memory_free(run->activations);
    memory_free((void *)run->taken);
    memory_free(run->calls);
    memory_free(run->losses);
    memory_free(run->sums);
    memory_free(run->profile.seconds);
    memory_free(run);
}

void run_pace(Run *run) {
    run->paced = true;
    for (int i = 0; i < COUNT(run->paces); i++) run->paces[i].shared = PACE_SHARED_FIRST;
}

/* ---- parts of a run ---- */

RunMemory run_memory(const Run *run) {
    return run->memory;
}

const Model *run_model(const Run *run) {
    return run->model;
}

const char *run_kernels(const Run *run) {
    return run->isa->name;
}

int run_part(const Run *run, int *first) {
    *first = run->before;
    return run->options.batch;
}

void run_moments(const Run *run, const float **first, const float **second) {
    *first = run->first;
    *second = run->second;
}

const float *run_gradient(const Run *run, int tensor) {
    return run->gradients + run->model->tensors[tensor].offset;
}

/* ---- passes ---- */

/* Chooses one thread, or as many as are useful: whichever was faster lately in passes, or steps, of
 * this kind. Begins to measure. Long ones are not measured and use all useful threads, because even
 * on a busy machine they lose little by waiting. A decoding run uses one: its caller shares texts,
 * not tokens, between threads. */
static void choose_threads(Run *run, Pace *pace) {
    const double longest = 1e10, work = work_of_pass(run);
    const int most = run->options.slots > 0 ? 1 : run->options.threads,
              useful = useful_threads(work, 1 + run->schedule.barriers, most);
    run->pace = run->paced && useful > 1 && work < longest ? pace : NULL;
    run->alone = run->pace && !pace_shares(pace, work);
    if (run->pace) run->begun = clock_seconds();
    if (run->pace) run->worked = clock_worked();
    run->threads = run->alone ? 1 : useful;
    run->slice = slice_length(run->products, run->pass.tokens, run->threads);
    /* a thread without a slice would only wait */
    run->threads = min_int(run->threads, slice_count(run));
}

void run_note_pace(Run *run) {
    if (run->pace)
        pace_note(run->pace, !run->alone, work_of_pass(run), clock_seconds() - run->begun,
                  clock_worked() - run->worked);
    run->pace = NULL;
}

/* Adds the tokens of a pass, and their pairs, to the profile. */
static void note_tokens(Profile *profile, const Pass *pass) {
    profile->tokens += (double)pass->tokens;
    profile->pairs += (double)pass->tokens * (pass->T + 1) / 2;
}

/* Describes a pass, and chooses its threads. */
static void begin(Run *run, const int32_t *ids, int B, int T, const TextOrigin *source,
                  bool training) {
    Profile *profile = &run->profile;
    assert(B >= 1 && T >= 1 && T <= run->options.length);
    assert((size_t)B * (size_t)T <= run_tokens(run));
    run->pass = (Pass){.ids = ids,
                       .B = B,
                       .T = T,
                       .tokens = (size_t)B * (size_t)T,
                       .before = (size_t)run->before * (size_t)run->options.length,
                       .source = source,
                       .ngram = run->model->ngram,
                       .counts_weight = run->counts_weight,
                       .losses = run->losses};
    if (training) {
        run->pass.dropout = (float)run->options.dropout;
        run->pass.masks = random_key(run->options.seed, RANDOM_DROPOUT, run->step);
    }
    profile->in_step = training && profile->seconds;
    if (profile->in_step) note_tokens(profile, &run->pass);
    choose_threads(run, &run->paces[training ? PACE_STEP : PACE_PASS]);
}

const float *run_decode(Run *run, const DecodeToken *sequences, int B) {
    assert(run->options.slots > 0);
    begin(run, NULL, B, 1, NULL, false);
    run->pass.sequences = sequences;
    run->pass.capacity = schedule_capacity((size_t)run->options.length);
    execute_pass(run, false);
    return layout_array(run, run->tape.logits);
}

const float *run_forward_at(Run *run, const int32_t *ids, int B, int T, const TextOrigin *source) {
    begin(run, ids, B, T, source, false);
    execute_pass(run, false);
    run_note_pace(run);
    return layout_array(run, run->tape.logits);
}

const float *run_forward(Run *run, const int32_t *ids, int B, int T) {
    return run_forward_at(run, ids, B, T, NULL);
}

void run_forward_training(Run *run, const int32_t *ids, int B, int T, const TextOrigin *source) {
    assert(run->options.training);
    begin(run, ids, B, T, source, true);
    execute_pass(run, false);
}

/* Returns the number of tokens in the loss, over all processes, which cut their sequences into
 * equally many pieces. */
static double tokens_in_loss(const Run *run) {
    const double tokens = (double)run->pass.tokens;
    return run->options.shared ? tokens / run->options.batch * run->whole : tokens;
}

void run_weigh_counts(Run *run, double weight) {
    run->counts_weight = (float)weight;
}

double run_backward(Run *run, const int32_t *targets) {
    assert(run->options.training);
    double tokens = tokens_in_loss(run), total = 0;
    run->pass.targets = targets;
    run->pass.scale = 1.0f / (float)tokens;
    execute_pass(run, true);
    for (size_t n = 0; n < run->pass.tokens; n++) total += (double)run->losses[n];
    if (run->options.shared) world_allreduce(&total, 1);
    return total / tokens;
}
