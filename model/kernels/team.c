/* team.c - threads side by side.
 *
 * OpenMP starts the threads and parks them between passes. Within a pass they meet at the barrier
 * below: a count of those who have come, and a number that the last one raises to let all go on.
 * Those who wait look again for some tens of microseconds, which is longer than a fair share of
 * work differs, then offer the processor to whoever else wants it: on a busy machine a thread that
 * only looked would spend the time that the one it waits for needs. Where there are more threads
 * than processors it always would, so that they offer it at once. */
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
    Kernels *members;
    int size;
    int patience; /* how often those who wait look before they offer the processor */
    float *scratch;
    /* each on a cache line of its own: the waiting look at one while others change the other */
    _Alignas(MEMORY_ALIGNMENT) atomic_int come;
    _Alignas(MEMORY_ALIGNMENT) atomic_uint round;
};

enum { AT_ONCE = 100, PATIENCE = 2000 }; /* looks; the first ones in a row */
enum { LEFT = MATMUL_TERMS * MATMUL_ROWS, RIGHT = MATMUL_TERMS * MATMUL_COLUMNS };

/* Whole cache lines, so that no two threads write to the same one. */
size_t team_scratch(size_t scratch) {
    return LEFT + RIGHT + (scratch + 15) / 16 * 16;
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
        team->members[i] = (Kernels){.isa = isa,
                                     .products = products,
                                     .team = team,
                                     .thread = (int)i,
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

void team_run(Team *team, int threads, void (*work)(const Kernels *k, void *argument),
              void *argument) {
    assert(threads >= 1 && threads <= team->size);
#if defined _OPENMP
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        /* OpenMP may give fewer than asked for: each asks how many they are. */
        Kernels *own = &team->members[omp_get_thread_num()];
        own->threads = omp_get_num_threads();
        work(own, argument);
    }
#else
    (void)threads;
    team->members[0].threads = 1;
    work(&team->members[0], argument);
#endif
}

/* Tells the processor that this thread only looks. */
static inline void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

void team_barrier(const Kernels *k) {
    if (k->threads == 1) return;
    Team *team = k->team;
    unsigned round = atomic_load_explicit(&team->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->come, 1, memory_order_acq_rel) == k->threads - 1) {
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

Share team_share(const Kernels *k, size_t count, size_t grain) {
    size_t grains = (count + grain - 1) / grain, threads = (size_t)k->threads;
    size_t thread = (size_t)k->thread;
    Share share = {grains * thread / threads * grain, grains * (thread + 1) / threads * grain};
    if (share.begin > count) share.begin = count;
    if (share.end > count) share.end = count;
    return share;
}

Part team_part(const Kernels *k, int rows, int columns, int row_grain, int column_grain) {
    if (rows < columns) {
        Share own = team_share(k, (size_t)columns, (size_t)column_grain);
        return (Part){0, rows, (int)own.begin, (int)(own.end - own.begin)};
    }
    Share own = team_share(k, (size_t)rows, (size_t)row_grain);
    return (Part){(int)own.begin, (int)(own.end - own.begin), 0, columns};
}
