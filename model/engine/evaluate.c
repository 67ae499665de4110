/* evaluate.c - the loss on a text, window by window. */
#include "model/engine/inside.h"
#include "base/array.h"
#include "base/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void loss_work(const Thread *thread, void *argument) {
    const Run *run = argument;
    const int V = run->model->config.V;
    const Share own = share_of_tokens(run, thread);
    float *logits = layout_array(run, run->tape.logits) + own.begin * (size_t)V;
    cross_entropy(thread, run->losses + own.begin, logits, logits, run->pass.targets + own.begin, 0,
                  (int)(own.end - own.begin), V);
}

/* Returns the index, in the whole text, of the i-th window to read. */
static size_t number_of(const Run *run, const Windows *w, size_t i) {
    const size_t batch = (size_t)run->whole;
    return i / batch * w->every * batch + i % batch;
}

/* Returns how many tokens are predicted from window `number` on. */
static size_t left_from(const Run *run, const Windows *w, size_t number) {
    return w->count - 1 - number * (size_t)run->options.length;
}

/* Adds the loss of each window, `first` to `end` - 1, to sums[end - first]. A pass takes windows of
 * one batch, which lie end to end; the last window of the text, if it is shorter, by itself. */
static void read_windows(Run *run, const Windows *w, size_t first, size_t end, double *sums) {
    const size_t batch = (size_t)run->whole, most = (size_t)run->options.batch,
                 length = (size_t)run->options.length;
    for (size_t i = first, B; i < end; i += B) {
        const size_t number = number_of(run, w, i), start = number * length,
                     left = left_from(run, w, number), T = min_size(length, left);
        B = min_size(min_size(min_size(most, end - i), batch - i % batch), left / T);
        const TextOrigin source = {.starts = &start, .window = B * T, .counted = w->counted};
        run_forward_at(run, w->ids + start, (int)B, (int)T, &source);
        run->pass.targets = w->ids + start + 1;
        team_run(run->team, run->threads, loss_work, run);
        for (size_t n = 0; n < B * T; n++) sums[i - first + n / T] += (double)run->losses[n];
    }
}

/* Processes share the windows of one round at a time. The windows' sums are added in order, so the
 * number of processes and the size of a round do not change a bit. */
double run_evaluate(Run *run, Windows w, int (*stopped)(void *user), void *user) {
    enum { BATCHES = 4 };
    assert(w.count >= 2 && w.every >= 1);
    const size_t length = (size_t)run->options.length, count = ceil_div(w.count - 1, length);
    const size_t batch = (size_t)run->whole, span = batch * w.every;
    const size_t last = count % span; /* one batch of it is read */
    const size_t all = count / span * batch + min_size(last, batch);
    const size_t max = min_size(BATCHES * batch, WINDOWS_AT_ONCE);
    const bool shared = run->options.shared;
    const size_t rank = shared ? (size_t)world_rank() : 0, size = shared ? (size_t)world_size() : 1;
    const size_t rest = left_from(run, &w, number_of(run, &w, all - 1)); /* in the last window */
    double *sums = run->sums, total = 0;
    for (size_t round = 0; round < all; round += max) {
        size_t windows = all - round < max ? all - round : max;
        size_t first = windows * rank / size, end = windows * (rank + 1) / size;
        memset(sums, 0, windows * sizeof *sums);
        read_windows(run, &w, round + first, round + end, sums + first);
        if (stopped && stopped(user)) return NAN;
        if (shared) world_allreduce(sums, windows);
        for (size_t i = 0; i < windows; i++) total += sums[i];
    }
    return total / (double)((all - 1) * length + min_size(rest, length));
}
