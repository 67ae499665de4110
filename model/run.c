/* run.c - one model at work: its activations, a pass, a loss. */
#include "model/run.h"
#include "model/buckets.h"
#include "model/muon.h"
#include "model/optimizer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/world.h"

#include <assert.h>
#if defined _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

enum { LINE = 16 }; /* floats in a cache line */

static size_t whole_lines(size_t floats) {
    return (floats + LINE - 1) / LINE * LINE;
}

/* How the tokens are cut: into 16 or so, that several threads have their share, but not so long
 * that a stretch outgrows the cache. */
static int stretch_for(size_t tokens) {
    enum { MANY = 16 };
    size_t length = (tokens / MANY + STRETCH_LEAST - 1) / STRETCH_LEAST * STRETCH_LEAST;
    return length < STRETCH_LEAST  ? STRETCH_LEAST
           : length > STRETCH_MOST ? STRETCH_MOST
                                   : (int)length;
}

/* ... of the most tokens that a pass has. */
static size_t longest_stretch(const Run *run) {
    return (size_t)stretch_for((size_t)run->options.batch * (size_t)run->options.length);
}

/* The flags of a buffer in this run: less is kept where there is no backward pass. */
static unsigned flags_of(const Run *run, const BufferSpec *spec) {
    unsigned flags = spec->flags;
    if (run->options.training) return flags;
    if (flags & KEPT) flags = (flags & ~(unsigned)EVERY_LAYER) | SCRATCH;
    return flags & ~(unsigned)BETWEEN;
}

/* The floats of one layer's buffer. */
static size_t buffer_size(const Run *run, const BufferSpec *spec) {
    unsigned flags = flags_of(run, spec);
    const RunOptions *o = &run->options;
    size_t width = (size_t)size_of(&run->model->config, spec->width);
    size_t tokens = (size_t)o->batch * (size_t)o->length;
    if (flags & SCRATCH) return (size_t)o->threads * whole_lines(longest_stretch(run) * width);
    if (flags & PER_STRETCH) return (tokens / STRETCH_LEAST + 1) * width;
    /* a row for each thread, on cache lines of its own, if they are more */
    size_t apart = spec->flags & BETWEEN ? LINE * (size_t)o->threads : 0;
    return (tokens > apart ? tokens : apart) * width;
}

/* What a run takes, in floats. */
typedef struct {
    size_t activations, packed;
    size_t scratch; /* of each thread, for attention or Muon */
} Room;

/* Gives each buffer of each layer its place; returns the floats needed. */
static size_t lay_out(Run *run) {
    const Rung *rung = run->model->rung;
    int L = run->model->config.L;
    size_t room = 0;
    for (int i = 0; i < rung->buffer_count; i++) {
        const BufferSpec *spec = &rung->buffers[i];
        size_t *offsets = &run->offsets[i * (L + 1)];
        unsigned flags = flags_of(run, spec);
        int copies = flags & BETWEEN ? L + 1 : flags & EVERY_LAYER ? L : 1;
        bool there = run->options.training || !(flags & TRAINING);
        for (int l = 0; l <= L; l++) {
            if (!there || (l >= copies && copies > 1)) {
                offsets[l] = SIZE_MAX;
            } else if (l >= copies) {
                offsets[l] = offsets[0];
            } else {
                offsets[l] = room;
                room += whole_lines(buffer_size(run, spec));
            }
        }
    }
    return room;
}

/* Likewise for the packed weights. */
static size_t lay_out_packed(Run *run) {
    const Model *model = run->model;
    size_t room = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        bool packed = tensor->flags & LINEAR;
        run->packed_offsets[i] = packed ? room : SIZE_MAX;
        if (packed)
            room += whole_lines(
                linear_packed_size(run->isa, run->products, tensor->shape[1], tensor->shape[0]));
    }
    return room;
}

/* Packs the linear layers' weights for a pass in one direction. */
static void pack_weights(const Run *run, const Kernels *k, bool backward) {
    const Model *model = run->model;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (tensor->flags & LINEAR)
            linear_pack(k, run->packed + run->packed_offsets[i], model->weights + tensor->offset,
                        tensor->shape[1], tensor->shape[0], backward);
    }
    team_barrier(k);
}

static void pack_work(const Kernels *k, void *run) {
    pack_weights(run, k, false);
}

/* Looks up once what every pass asks for many times over. */
static void look_up(Run *run) {
    const Model *model = run->model;
    const Rung *rung = model->rung;
    for (int i = 0; i < rung->buffer_count; i++)
        run->widths[i] = (size_t)size_of(&model->config, rung->buffers[i].width);
    for (int l = 0; l < model->config.L; l++) {
        int number = 0;
        for (int i = 0; i < rung->tensor_count; i++) {
            bool every = rung->tensors[i].flags & EVERY_LAYER;
            int own = every ? number + l : number;
            size_t offset = model->tensors[own].offset, packed = run->packed_offsets[own];
            run->params[l * rung->tensor_count + i] =
                (Param){.w = model->weights + offset,
                        .dw = run->gradients ? run->gradients + offset : NULL,
                        .packed = packed == SIZE_MAX ? NULL : run->packed + packed};
            number += every ? model->config.L : 1;
        }
    }
}

int run_most_threads(void) {
    int processors = team_processors();
    return processors < MAX_THREADS ? processors : MAX_THREADS;
}

int run_default_threads(void) {
    int most = run_most_threads();
#if defined _OPENMP
    int threads = omp_get_max_threads();
    if (threads < most) return threads;
#endif
    return most;
}

/* The scratch that each thread needs, in floats. */
static size_t scratch_of(const Run *run) {
    const Model *model = run->model;
    int hs = model->config.C / model->config.NH;
    size_t most = attention_room(run->isa, run->products, run->options.length, hs, hs);
    for (int i = 0; i < model->tensor_count && run->options.training; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (!(tensor->flags & MUON)) continue;
        size_t room = muon_room(run->isa, run->products, tensor->shape[0], tensor->shape[1]);
        if (room > most) most = room;
    }
    return most;
}

/* Makes a batch that processes share this one's own part of it. One that nothing is trained on
 * may be smaller than they are many. */
static bool take_part(Run *run, Error *err) {
    RunOptions *o = &run->options;
    o->shared = o->shared && world_size() > 1;
    int rank = o->shared ? world_rank() : 0, size = o->shared ? world_size() : 1;
    run->whole = o->batch;
    run->before = (int)((int64_t)o->batch * rank / size);
    o->batch = (int)((int64_t)o->batch * (rank + 1) / size) - run->before;
    if (run->whole < size && o->training)
        return fail(err, "a --batch of %d is too small for %d processes to share", run->whole,
                    size);
    if (o->batch == 0) o->batch = 1;
    if ((size_t)o->batch * (size_t)o->length <= MAX_TOKENS) return true;
    return fail(err, "%d x %d tokens in a batch are more than %d", o->batch, o->length, MAX_TOKENS);
}

/* Makes a run for which all is chosen and laid out, and whose memory is known but not yet taken,
 * but for its tables. */
static bool plan(Run **planned, Model *model, const RunOptions *options, Room *room, Error *err) {
    Run *run;
    *planned = NULL;
    if (!memory_alloc(&run, 1, sizeof *run, "the run", err)) return false;
    run->model = model;
    run->options = *options;
    if (!take_part(run, err)) {
        run_close(run);
        return false;
    }
    size_t tokens = (size_t)run->options.batch * (size_t)options->length;
    size_t places = (size_t)model->rung->buffer_count * ((size_t)model->config.L + 1);
    size_t tensors = (size_t)model->tensor_count;
    size_t rows = (size_t)model->rung->tensor_count * (size_t)model->config.L;
    run->isa = isa_choose(err);
    run->products = options->precision == BFLOAT16 ? bf16_choose(err)
                    : options->precision == NARROW ? &narrow_products
                                                   : &float32_products;
    if (!run->isa || !run->products ||
        !memory_alloc(&run->offsets, places, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->packed_offsets, tensors, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->widths, places, sizeof(size_t), "the run", err) ||
        !memory_alloc(&run->params, rows, sizeof(Param), "the run", err)) {
        run_close(run);
        return false;
    }
    *room = (Room){
        .activations = lay_out(run), .packed = lay_out_packed(run), .scratch = scratch_of(run)};
    run->memory =
        (Memory){.weights = (model->room + room->packed) * sizeof(float),
                 .optimizer = options->training ? 3 * model->room * sizeof(float) : 0,
                 .messages = run->options.shared && options->training
                                 ? world_room(model->room, true) * sizeof(float)
                                 : 0,
                 .activations = (room->activations + tokens) * sizeof(float) +
                                WINDOWS_AT_ONCE * sizeof(double),
                 .threads = (size_t)options->threads * team_scratch(room->scratch) * sizeof(float)};
    *planned = run;
    return true;
}

bool run_open(Run **opened, Model *model, const RunOptions *options, Error *err) {
    assert(!(options->training && options->precision == NARROW));
    assert(options->threads >= 1 && options->threads <= MAX_THREADS);
    assert(options->batch >= 1 && options->length >= 1 && options->length <= model->config.T);
    Room room;
    Run *run;
    *opened = NULL;
    if (!plan(&run, model, options, &room, err)) return false;
    size_t tokens = (size_t)run->options.batch * (size_t)options->length;
    if (!team_open(&run->team, run->isa, run->products, options->threads, room.scratch, err) ||
        !memory_alloc(&run->packed, room.packed, sizeof(float), "the packed weights", err) ||
        !memory_alloc(&run->activations, room.activations, sizeof(float), "the activations", err) ||
        !memory_alloc(&run->losses, tokens, sizeof(float), "the losses", err) ||
        !memory_alloc(&run->sums, WINDOWS_AT_ONCE, sizeof(double), "the losses", err) ||
        (options->training && !optimizer_open(run, err)) ||
        (options->training && run->options.shared && !buckets_open(run, err))) {
        run_close(run);
        return false;
    }
    look_up(run);
    run_freeze(run, options->frozen);
    *opened = run;
    return true;
}

void run_pace(Run *run) {
    run->paced = true;
}

Precision run_default_precision(void) {
    return bf16_advised() ? BFLOAT16 : FLOAT32;
}

Memory run_memory(const Run *run) {
    return run->memory;
}

bool run_estimate(const Config *config, const RunOptions *options, Memory *memory, Error *err) {
    Model model;
    Run *run = NULL;
    Room room;
    bool ok = model_lay_out(&model, config, err) && plan(&run, &model, options, &room, err);
    if (ok) *memory = run->memory;
    run_close(run);
    model_free(&model);
    return ok;
}

void run_close(Run *run) {
    if (!run) return;
    optimizer_close(run);
    buckets_close(run);
    team_close(run->team);
    memory_free(run->offsets);
    memory_free(run->widths);
    memory_free(run->params);
    memory_free(run->activations);
    memory_free(run->packed_offsets);
    memory_free(run->packed);
    memory_free(run->losses);
    memory_free(run->sums);
    memory_free(run);
}

const char *run_kernels(const Run *run) {
    return run->isa->name;
}

void run_weights(const Run *run, int l, void *weights) {
    const Rung *rung = run->model->rung;
    const Param *params = run->params + l * rung->tensor_count;
    for (int i = 0; i < rung->tensor_count; i++)
        memcpy((char *)weights + rung->tensors[i].slot, &params[i], sizeof *params);
}

void run_buffers(const Run *run, const Kernels *k, int l, size_t first, void *buffers) {
    const Rung *rung = run->model->rung;
    int copies = run->model->config.L + 1;
    for (int i = 0; i < rung->buffer_count; i++) {
        size_t offset = run->offsets[i * copies + l], width = run->widths[i];
        float **slot = (float **)((char *)buffers + rung->buffers[i].slot);
        *slot = NULL;
        if (offset == SIZE_MAX) continue;
        unsigned flags = flags_of(run, &rung->buffers[i]);
        if (!k && flags & SCRATCH) continue;
        size_t thread = !k || (k->together && flags & PRODUCT) ? 0 : (size_t)k->thread;
        size_t row = first * width;
        if (flags & SCRATCH) row = thread * whole_lines(longest_stretch(run) * width);
        if (flags & PER_STRETCH) row = first / (size_t)run->stretch * width;
        if (k && k->together && rung->buffers[i].flags & BETWEEN) row = thread * LINE * width;
        *slot = run->activations + offset + row;
    }
}

int run_stretches(const Run *run) {
    return (run->B * run->T + run->stretch - 1) / run->stretch;
}

bool run_stretch(const Run *run, const Kernels *k, int i, Stretch *stretch) {
    if (run->options.shared && k->thread == 0) world_poke();
    size_t tokens = (size_t)run->B * (size_t)run->T, length = (size_t)run->stretch;
    Share own = team_share(k, tokens, length);
    if (k->together) own = (Share){0, tokens};
    size_t first = own.begin + (size_t)i * length;
    if (first >= own.end) return false;
    *stretch = (Stretch){first, (int)(own.end - first < length ? own.end - first : length)};
    return true;
}

Dropout run_dropout(const Run *run, int place, int l) {
    if (!run->dropping) return (Dropout){0};
    uint64_t key = random_key(run->options.seed, RANDOM_DROPOUT, run->step);
    return (Dropout){.rate = (float)run->model->config.dropout,
                     .key = random_bits(key, (uint64_t)place << 32 | (uint64_t)l),
                     .first = (size_t)run->before * (size_t)run->T};
}

/* The first buffer of every rung. */
static float *logits_of(const Run *run) {
    return run->activations + run->offsets[0];
}

int run_worth(double work, int waits, int most) {
    const double apart = 1 << 15; /* one or two microseconds: a few times what a wait costs */
    double threads = work / (apart * waits);
    return threads < 2 ? 1 : threads < most ? (int)threads : most;
}

/* The multiply-adds for so many tokens: each has one with every weight, and two with each channel
 * of the `reach` tokens that it looks back on. */
static double work_for(const Model *model, size_t tokens, int reach) {
    double sight = 2.0 * model->config.L * model->config.C * reach;
    return (double)tokens * ((double)model->parameters + sight);
}

static double work_of(const Run *run) {
    return work_for(run->model, (size_t)run->B * (size_t)run->T, run->past + run->T);
}

static int worth_of(const Run *run, double work, bool together) {
    const Model *model = run->model;
    int waits = 2 * model->config.L + 1; /* around attention */
    for (int i = 0; i < model->tensor_count && together; i++)
        waits += (model->tensors[i].flags & LINEAR) != 0;
    return run_worth(work, waits, run->options.threads);
}

int run_threads(const Run *run) {
    int stretches = run_stretches(run);
    int threads = worth_of(run, work_of(run), run->together);
    /* those without a stretch would only wait */
    return stretches < threads && !run->together ? stretches : threads;
}

void run_freeze(Run *run, bool frozen) {
    run->options.frozen = frozen;
    /* where most passes are of one token, no thread is started before one is worth it */
    int threads = run->options.training ? run->options.threads
                                        : worth_of(run, work_for(run->model, 1, 1), true);
    if (frozen) team_run(run->team, threads, pack_work, run);
}

/* Calls one of a rung's two functions, the threads together or each with its own rows. */
static void pass(const Run *run, const Kernels *k, void (*way)(const Run *, const Kernels *)) {
    Kernels own = *k;
    own.together = run->together && k->threads > 1;
    way(run, &own);
}

static void forward_work(const Kernels *k, void *run) {
    const Run *of = run;
    if (!of->options.frozen) pack_weights(of, k, false);
    pass(of, k, of->model->rung->forward);
}

/* With as many threads as the pass is worth, or one if that is faster. */
static void forward_timed(Run *run, int threads) {
    Pace *pace = &run->paces[run->B * run->T > 1];
    double work = work_of(run), begun = clock_seconds(), worked = clock_worked();
    bool shared = pace_shares(pace, work);
    team_run(run->team, shared ? threads : 1, forward_work, run);
    pace_note(pace, shared, work, clock_seconds() - begun, clock_worked() - worked);
}

static void forward(Run *run, const int32_t *ids, int B, int T, int past, bool dropping) {
    assert(B >= 1 && B <= run->options.batch && T >= 1 && past >= 0);
    assert(past + T <= run->options.length && (past == 0 || B == 1));
    run->ids = ids;
    run->B = B;
    run->T = T;
    run->past = past;
    run->stretch = stretch_for((size_t)B * (size_t)T);
    run->together = B * T == 1 && run->model->rung->together && !run->options.training;
    run->dropping = dropping && run->model->config.dropout > 0;
    int threads = run_threads(run);
    if (run->paced && threads > 1)
        forward_timed(run, threads);
    else
        team_run(run->team, threads, forward_work, run);
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
    int V = of->model->config.V;
    Stretch s;
    for (int i = 0; run_stretch(of, k, i, &s); i++)
        cross_entropy_forward(k, of->losses + s.first, logits_of(of) + s.first * (size_t)V,
                              of->targets + s.first, s.count, V);
}

const float *run_losses(Run *run, const int32_t *targets) {
    run->targets = targets;
    team_run(run->team, run_threads(run), loss_work, run);
    return run->losses;
}

/* The tokens over which the loss is a mean: of all processes. */
static double tokens_of(const Run *run) {
    return (double)(run->options.shared ? run->whole : run->B) * run->T;
}

double run_loss(Run *run, const int32_t *targets) {
    const float *losses = run_losses(run, targets);
    double total = 0;
    for (int n = 0; n < run->B * run->T; n++) total += (double)losses[n];
    if (run->options.shared) world_add(&total, 1);
    return total / tokens_of(run);
}

int run_part(const Run *run, int *first) {
    *first = run->before;
    return run->options.batch;
}

static void backward_rung(const Run *run, const Kernels *k) {
    int V = run->model->config.V;
    float scale = 1.0f / (float)tokens_of(run);
    Stretch s;
    for (int i = 0; run_stretch(run, k, i, &s); i++) {
        float *logits = logits_of(run) + s.first * (size_t)V;
        cross_entropy_backward(k, logits, logits, run->targets + s.first, scale, s.count, V);
    }
    run->model->rung->backward(run, k);
}

void run_learnt(const Run *run, const Kernels *k, int l) {
    if (run->options.shared && k->thread == 0) buckets_send(run, l);
}

static void backward_work(const Kernels *k, void *run) {
    pack_weights(run, k, true);
    pass(run, k, backward_rung);
    team_barrier(k);
    run_learnt(run, k, -1);
}

void run_backward(Run *run, const int32_t *targets) {
    run->targets = targets;
    team_run(run->team, run_threads(run), backward_work, run);
}
