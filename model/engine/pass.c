/* pass.c - forward and backward passes, the loss, and how many threads a pass is worth. */
#include "model/engine/buckets.h"
#include "model/engine/execute.h"
#include "model/engine/profile.h"
#include "base/clock.h"
#include "base/world.h"

#include <assert.h>

int run_worth(double work, int waits, int max) {
    const double apart = 1 << 15; /* multiply-adds in one or two microseconds: a few times the cost
                                     of a barrier */
    double threads = work / (apart * waits);
    return threads < 2 ? 1 : threads < max ? (int)threads : max;
}

/* The multiply-adds of a pass. Each token takes one with every weight, and two with each channel of
 * the `reach` tokens that it attends to. */
static double work_for(const Model *model, size_t tokens, int reach) {
    double sight = 2.0 * model->config.L * model->config.C * reach;
    return (double)tokens * ((double)model->parameters + sight);
}

static double work_of(const Run *run) {
    const Pass *pass = &run->pass;
    return work_for(run->model, (size_t)pass->B * (size_t)pass->T, pass->past + pass->T);
}

static int worth_of(const Run *run, double work, bool single) {
    int waits = 1 + (single ? run->schedule.single_barriers : run->schedule.many_barriers);
    return run_worth(work, waits, run->options.threads);
}

/* Is this a pass over one token, on which threads work together, as in generation? */
static bool is_single(const Run *run) {
    return run->pass.B * run->pass.T == 1 && !run->options.training;
}

/* The threads that the pass is worth. */
static int useful_threads(const Run *run) {
    return worth_of(run, work_of(run), is_single(run));
}

int run_threads(const Run *run) {
    int blocks = execute_blocks(run), threads = useful_threads(run);
    /* a thread without a block would only wait */
    return blocks < threads && !is_single(run) ? blocks : threads;
}

static void pack_work(const Thread *thread, void *run) {
    execute_packing(run, thread, false);
}

void run_freeze(Run *run, bool frozen) {
    run->options.frozen = frozen;
    /* no more threads than a pass of one token needs: others are started when they are useful */
    int threads = run->options.training ? run->options.threads
                                        : worth_of(run, work_for(run->model, 1, 1), true);
    if (frozen) team_run(run->team, threads, pack_work, run);
}

static void forward_work(const Thread *thread, void *argument) {
    const Run *run = argument;
    if (!run->options.frozen) execute_packing(run, thread, false);
    if (run->pass.single && thread->count > 1)
        execute_token(run, thread);
    else
        execute_steps(run, thread, 0, run->schedule.backward);
}

/* Runs the pass with `threads` threads, or with one if that was faster lately, and measures it. */
static void forward_timed(Run *run, int threads) {
    Pace *pace = &run->paces[run->pass.B * run->pass.T > 1];
    double work = work_of(run), begun = clock_seconds(), worked = clock_worked();
    bool shared = pace_shares(pace, work);
    team_run(run->team, shared ? threads : 1, forward_work, run);
    pace_note(pace, shared, work, clock_seconds() - begun, clock_worked() - worked);
}

static void forward(Run *run, const int32_t *ids, int B, int T, int past, bool training) {
    assert(B >= 1 && T >= 1 && past >= 0);
    assert((size_t)B * (size_t)T <= (size_t)run->options.batch * (size_t)run->options.length);
    assert(past + T <= run->options.length && (past == 0 || B == 1));
    run->pass = (Pass){.ids = ids,
                       .B = B,
                       .T = T,
                       .past = past,
                       .dropping = training && run->model->config.dropout > 0};
    run->pass.single = is_single(run);
    profile_pass(run, training);
    run->block = execute_block_size(run->products, (size_t)B * (size_t)T, useful_threads(run),
                                    run->longest_block);
    execute_begin(run);
    int threads = run_threads(run);
    if (run->paced && threads > 1)
        forward_timed(run, threads);
    else
        profile_team(run, threads, forward_work, run);
}

const float *run_forward(Run *run, const int32_t *ids, int B, int T, int past) {
    forward(run, ids, B, T, past, false);
    return execute_logits(run);
}

static void softmax_work(const Thread *thread, void *argument) {
    const Run *run = argument;
    int V = run->model->config.V;
    size_t row = (size_t)V;
    Block own;
    for (int i = 0; execute_own_block(run, thread, i, &own); i++) {
        float *logits = execute_logits(run) + own.first * row;
        thread->isa->softmax(logits, row, NULL, logits, 1.0f, own.count, V);
    }
}

const float *run_probabilities(Run *run, const int32_t *ids, int B, int T) {
    forward(run, ids, B, T, 0, false);
    team_run(run->team, run_threads(run), softmax_work, run);
    return execute_logits(run);
}

void run_teach(Run *run, const float *probabilities, double share) {
    run->taught = probabilities;
    run->taught_share = (float)share;
}

void run_forward_training(Run *run, const int32_t *ids, int B, int T) {
    assert(run->options.training);
    forward(run, ids, B, T, 0, true);
}

static void loss_work(const Thread *thread, void *argument) {
    const Run *run = argument;
    size_t V = (size_t)run->model->config.V;
    Block own;
    double start = profile_now(run);
    for (int i = 0; execute_own_block(run, thread, i, &own); i++)
        compute_cross_entropy(thread, run->losses + own.first, execute_logits(run) + own.first * V,
                              run->targets + own.first, own.count, (int)V);
    profile_other(run, thread, PROFILE_LOSS, start);
}

const float *run_losses(Run *run, const int32_t *targets) {
    run->targets = targets;
    profile_team(run, run_threads(run), loss_work, run);
    return run->losses;
}

/* The tokens in the loss, of all processes. Each process cuts its sequences into as many pieces. */
static double tokens_of(const Run *run) {
    double tokens = (double)run->pass.B * run->pass.T;
    return run->options.shared ? tokens / run->options.batch * run->whole : tokens;
}

double run_loss(Run *run, const int32_t *targets) {
    const float *losses = run_losses(run, targets);
    double total = 0;
    for (int n = 0; n < run->pass.B * run->pass.T; n++) total += (double)losses[n];
    double start = profile_now(run);
    if (run->options.shared) world_allreduce(&total, 1);
    profile_sharing(run, start);
    return total / tokens_of(run);
}

static void backward_work(const Thread *thread, void *argument) {
    const Run *run = argument;
    execute_packing(run, thread, true);
    execute_steps(run, thread, run->schedule.backward, run->schedule.step_count);
}

void run_backward(Run *run, const int32_t *targets) {
    assert(!run->options.frozen); /* its packed weights are those of a forward pass */
    run->targets = targets;
    run->scale = 1.0f / (float)tokens_of(run);
    execute_begin(run);
    profile_team(run, run_threads(run), backward_work, run);
    run->taught = NULL;
}
