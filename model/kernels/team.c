/* team.c - threads that compute together: each has its own scratch, and its share of the work. */
#include "model/kernels/products.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/threads.h"

#include <assert.h>

struct Team {
    Threads *threads;
    Thread *members;
    int size;
    float *scratch;
    /* the work of the current team_run */
    void (*work)(const Thread *thread, void *argument);
    void *argument;
};

enum { LEFT = MATMUL_TERMS * MATMUL_ROWS, RIGHT = MATMUL_TERMS * MATMUL_COLUMNS };

/* Whole cache lines, so that no two threads write to one. Only sums of products pack here. */
size_t team_scratch(const Products *products, size_t scratch) {
    return (products->accumulate ? LEFT + RIGHT : 0) + memory_lines(scratch);
}

bool team_open(Team **opened, const Isa *isa, const Products *products, int threads, size_t scratch,
               Error *err) {
    Team *team;
    *opened = NULL;
    if (!memory_alloc(&team, 1, sizeof *team, "the threads", err)) return false;
    size_t each = team_scratch(products, scratch), count = (size_t)threads;
    team->size = threads;
    if (!threads_open(&team->threads, threads, err) ||
        !memory_alloc(&team->members, count, sizeof *team->members, "the threads", err) ||
        !memory_alloc(&team->scratch, count * each, sizeof(float), "the kernels", err)) {
        team_close(team);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        float *own = team->scratch + i * each;
        team->members[i] = (Thread){.isa = isa,
                                    .products = products,
                                    .team = team,
                                    .index = (int)i,
                                    .left = products->accumulate ? own : NULL,
                                    .right = products->accumulate ? own + LEFT : NULL,
                                    .scratch = own + each - memory_lines(scratch)};
    }
    *opened = team;
    return true;
}

void team_close(Team *team) {
    if (!team) return;
    threads_close(team->threads);
    memory_free(team->members);
    memory_free(team->scratch);
    memory_free(team);
}

static void work_as(void *given, int index, int count) {
    Team *team = given;
    team->members[index].count = count;
    team->work(&team->members[index], team->argument);
}

void team_run(Team *team, int threads, void (*work)(const Thread *thread, void *argument),
              void *argument) {
    assert(threads >= 1 && threads <= team->size);
    team->work = work;
    team->argument = argument;
    team->members[0].count = threads_begin(team->threads, threads, work_as, team);
    work(&team->members[0], argument);
    threads_end(team->threads);
}

void team_barrier(const Thread *thread) {
    threads_barrier(thread->team->threads, thread->count);
}

/* Returns the share of thread `index` of `threads`. */
static Share share_of(int index, int threads, size_t count, size_t grain) {
    if (threads == 1) return (Share){0, count};
    const size_t grains = ceil_div(count, grain), i = (size_t)index, n = (size_t)threads;
    return (Share){min_size(grains * i / n * grain, count),
                   min_size(grains * (i + 1) / n * grain, count)};
}

Share team_share(const Thread *thread, size_t count, size_t grain) {
    return share_of(thread->index, thread->count, count, grain);
}

Items team_items(const Thread *thread, size_t count, atomic_int *taken) {
    return (Items){.thread = thread, .taken = taken, .count = count};
}

bool team_next(Items *items, size_t *item) {
    const int threads = items->thread->count;
    for (; items->share < (items->taken ? threads : 1); items->share++) {
        const int index = (items->thread->index + items->share) % threads;
        const Share share = share_of(index, threads, items->count, 1);
        const size_t before =
            items->taken
                ? (size_t)atomic_fetch_add_explicit(&items->taken[index], 1, memory_order_relaxed)
                : items->own_taken++;
        *item = share.begin + before;
        if (*item < share.end) return true;
    }
    return false;
}

bool team_half(const Thread *thread, int part, Thread *member) {
    *member = *thread;
    if (thread->count % 2) return true;
    member->count = thread->count / 2;
    member->index = thread->index % member->count;
    return thread->index / member->count == part;
}

/* Returns the longest of `threads` shares of a side. */
static double longest(int side, int grain, int threads) {
    return min_int(ceil_div_int(ceil_div_int(side, grain), threads) * grain, side);
}

Part team_part(const Thread *thread, int rows, int columns, int row_grain, int column_grain) {
    const double copy = 16; /* packing a number takes as long as that many multiply-adds */
    int best = 1;
    double least = -1;
    if (thread->count == 1) return (Part){0, rows, 0, columns};
    for (int down = 1; down <= thread->count; down++) {
        double m = longest(rows, row_grain, down);
        double n = longest(columns, column_grain, thread->count / down);
        double work = m * n + copy * (m + n);
        if (least < 0 || work < least) {
            least = work;
            best = down;
        }
    }
    int across = thread->count / best;
    if (thread->index >= best * across) return (Part){0}; /* beyond the grid */
    Share of_rows = share_of(thread->index / across, best, (size_t)rows, (size_t)row_grain);
    Share of_columns =
        share_of(thread->index % across, across, (size_t)columns, (size_t)column_grain);
    return (Part){(int)of_rows.begin, (int)(of_rows.end - of_rows.begin), (int)of_columns.begin,
                  (int)(of_columns.end - of_columns.begin)};
}
