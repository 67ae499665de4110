/* team.c - threads that compute together.
 *
 * OpenMP starts the threads and parks them between passes. Within a pass they meet at the barrier
 * below: a count of the threads that have arrived, and a number that the last one raises to release
 * all. A waiting thread looks again for some tens of microseconds, longer than fair shares of work
 * differ. Then it offers the processor to other programs: on a busy machine a thread that only
 * looked would use the time that the late thread needs. If there are more threads than processors,
 * that is always so, and a waiting thread offers it at once. */
#include "model/kernels/kernels.h"
#include "model/kernels/matmul.h"
#include "base/memory.h"

#include <assert.h>
#if defined _OPENMP
#include <omp.h>
#endif
#include <sched.h>
#include <stdatomic.h>

struct Team {
    Thread *members;
    int size;
    int patience; /* how often a waiting thread looks before it offers the processor */
    float *scratch;
    /* each on its own cache line: waiting threads read one while others write the other */
    _Alignas(MEMORY_ALIGNMENT) atomic_int come;
    _Alignas(MEMORY_ALIGNMENT) atomic_uint round;
};

enum { AT_ONCE = 100, PATIENCE = 2000 }; /* looks; the first ones without a pause between them */
enum { LEFT = MATMUL_TERMS * MATMUL_ROWS, RIGHT = MATMUL_TERMS * MATMUL_COLUMNS };

/* Whole cache lines, so that no two threads write to the same one. */
size_t team_scratch(size_t scratch) {
    return LEFT + RIGHT + memory_lines(scratch);
}

int team_processors(void) {
#if defined _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

bool team_open(Team **opened, const Isa *isa, const Products *products, int threads, size_t scratch,
               Error *err) {
    Team *team;
    *opened = NULL;
    if (!memory_alloc(&team, 1, sizeof *team, "the threads", err)) return false;
    size_t each = team_scratch(scratch), count = (size_t)threads;
    team->size = threads;
    team->patience = threads > team_processors() ? 0 : PATIENCE;
    if (!memory_alloc(&team->members, count, sizeof *team->members, "the threads", err) ||
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
                                    .left = own,
                                    .right = own + LEFT,
                                    .scratch = own + LEFT + RIGHT};
    }
    *opened = team;
    return true;
}

void team_close(Team *team) {
    if (!team) return;
    memory_free(team->members);
    memory_free(team->scratch);
    memory_free(team);
}

void team_run(Team *team, int threads, void (*work)(const Thread *thread, void *argument),
              void *argument) {
    assert(threads >= 1 && threads <= team->size);
#if defined _OPENMP
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        /* OpenMP may give fewer threads than asked for. */
        Thread *own = &team->members[omp_get_thread_num()];
        own->count = omp_get_num_threads();
        work(own, argument);
    }
#else
    (void)threads;
    team->members[0].count = 1;
    work(&team->members[0], argument);
#endif
}

/* Tells the processor that this thread is only waiting. */
static inline void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

void team_barrier(const Thread *thread) {
    if (thread->count == 1) return;
    Team *team = thread->team;
    unsigned round = atomic_load_explicit(&team->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->come, 1, memory_order_acq_rel) == thread->count - 1) {
        atomic_store_explicit(&team->come, 0, memory_order_relaxed);
        atomic_store_explicit(&team->round, round + 1, memory_order_release);
        return;
    }
    for (int looks = 0; atomic_load_explicit(&team->round, memory_order_acquire) == round;)
        if (looks < team->patience) {
            if (looks++ > AT_ONCE) relax();
        } else {
            sched_yield();
        }
}

Share team_share(const Thread *thread, size_t count, size_t grain) {
    size_t grains = (count + grain - 1) / grain, threads = (size_t)thread->count;
    size_t index = (size_t)thread->index;
    Share share = {grains * index / threads * grain, grains * (index + 1) / threads * grain};
    if (share.begin > count) share.begin = count;
    if (share.end > count) share.end = count;
    return share;
}

Part team_part(const Thread *thread, int rows, int columns, int row_grain, int column_grain) {
    if (rows < columns) {
        Share own = team_share(thread, (size_t)columns, (size_t)column_grain);
        return (Part){0, rows, (int)own.begin, (int)(own.end - own.begin)};
    }
    Share own = team_share(thread, (size_t)rows, (size_t)row_grain);
    return (Part){(int)own.begin, (int)(own.end - own.begin), 0, columns};
}
