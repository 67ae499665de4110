/* evaluation.c - the loss on a text, with its windows shared between processes. */
#include "model/engine/run.h"
#include "base/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A text of `tokens` predictions, cut into windows of T tokens; the last may be shorter. One batch
 * of windows in `every` is read. */
typedef struct {
    const int32_t *ids;
    size_t tokens, T;
    size_t batch, every;
} Windows;

static size_t windows_in(const Windows *w) {
    size_t all = (w->tokens + w->T - 1) / w->T, round = w->batch * w->every;
    size_t last = all % round;
    return all / round * w->batch + (last < w->batch ? last : w->batch);
}

/* Where in the text window i, of those that are read, begins. */
static size_t begin_of(const Windows *w, size_t i) {
    return (i / w->batch * w->every * w->batch + i % w->batch) * w->T;
}

/* Adds the loss of each window, `first` to `first` + `count`, to sums[count]. A pass takes
 * contiguous windows, at most the run's batch. */
static void read_windows(Run *run, const Windows *w, size_t first, size_t count, double *sums) {
    for (size_t i = first, end = first + count; i < end;) {
        size_t at = begin_of(w, i), T = w->T, B = end - i, beside = w->batch - i % w->batch;
        if (beside < B && w->every > 1) B = beside;
        if (B > (size_t)run->options.batch) B = (size_t)run->options.batch;
        if (at + B * T > w->tokens) B--; /* the short window alone */
        if (B == 0) {
            B = 1;
            T = w->tokens - at;
        }
        run_forward(run, w->ids + at, (int)B, (int)T, 0);
        const float *losses = run_losses(run, w->ids + at + 1);
        for (size_t b = 0; b < B; b++)
            for (size_t t = 0; t < T; t++) sums[i + b - first] += (double)losses[b * T + t];
        i += B;
    }
}

/* Processes share the windows of one block at a time. The windows' sums are added in order, so the
 * number of processes and the block size do not change a bit. After the sums each process adds
 * whether it was told to stop, so that all stop after the same block. */
double run_evaluate_until(Run *run, const int32_t *ids, size_t count, size_t every,
                          int (*stopped)(void *user), void *user) {
    enum { BLOCK = WINDOWS_AT_ONCE - 1, BATCHES = 4 };
    double *sums = run->sums, total = 0;
    assert(count >= 2 && every >= 1);
    Windows w = {ids, count - 1, (size_t)run->options.length, (size_t)run->whole, every};
    size_t all = windows_in(&w), last = begin_of(&w, all - 1), rank = 0, size = 1;
    size_t max = BATCHES * w.batch < BLOCK ? BATCHES * w.batch : BLOCK;
    if (run->options.shared) {
        rank = (size_t)world_rank();
        size = (size_t)world_size();
    }
    for (size_t block = 0; block < all; block += max) {
        size_t in_block = all - block < max ? all - block : max;
        size_t begin = in_block * rank / size, end = in_block * (rank + 1) / size;
        memset(sums, 0, in_block * sizeof *sums);
        read_windows(run, &w, block + begin, end - begin, sums + begin);
        sums[in_block] = stopped && stopped(user);
        if (run->options.shared) world_allreduce(sums, in_block + 1);
        if (sums[in_block] > 0) return NAN;
        for (size_t i = 0; i < in_block; i++) total += sums[i];
    }
    size_t short_by = last + w.T > w.tokens ? last + w.T - w.tokens : 0;
    return total / (double)(all * w.T - short_by);
}

double run_evaluate(Run *run, const int32_t *ids, size_t count, size_t every) {
    return run_evaluate_until(run, ids, count, every, NULL, NULL);
}
