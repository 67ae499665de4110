/* threads.c - POSIX threads, which mingw-w64 has for Windows, too.
 *
 * A thread that waits looks at a number in memory again and again: first as fast as it can, then
 * with pauses, in all for some tens of microseconds, longer than fair shares of work differ. Then
 * it offers the processor to other programs between looks: on a busy machine a thread that only
 * looked would use the time that the late thread needs. If there are more threads than processors,
 * that is always so, and a waiting thread offers it at once. A thread that waits for work goes to
 * sleep if none comes for about a millisecond. */
#include "base/threads.h"
#include "base/memory.h"
#include "base/terminal.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { AT_ONCE = 100, PATIENCE = 2000, OFFERS = 1000 }; /* looks */

/* A thread beside the calling one. Its order is on a cache line that no other thread reads. */
typedef struct {
    _Alignas(MEMORY_ALIGNMENT) atomic_uint orders; /* given to it so far */
    atomic_bool asleep;
    Threads *threads;
    int index;
    pthread_t thread;
    pthread_mutex_t mutex; /* while it goes to sleep and wakes */
    pthread_cond_t order;
} Worker;

struct Threads {
    Worker *workers; /* [most - 1] */
    int most, started;
    int patience; /* looks before a waiting thread offers the processor */
    /* each of these on its own cache line: waiting threads read one while others write another */
    /* the work; NULL: none will come */
    _Alignas(MEMORY_ALIGNMENT) void *argument;
    void (*work)(void *argument, int index, int count);
    int count;
    _Alignas(MEMORY_ALIGNMENT) atomic_int working; /* workers that have not returned yet */
    _Alignas(MEMORY_ALIGNMENT) atomic_int come;    /* threads at the barrier */
    _Alignas(MEMORY_ALIGNMENT) atomic_uint round;  /* barriers passed */
};

/* ---- waiting ---- */

/* Tells the processor that this thread is only waiting. */
static inline void relax(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Between look number `looks` and the next. */
static inline void pass_time(const Threads *threads, int looks) {
    if (looks >= threads->patience)
        sched_yield();
    else if (looks > AT_ONCE)
        relax();
}

void threads_barrier(Threads *threads, int count) {
    if (count == 1) return;
    unsigned round = atomic_load_explicit(&threads->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&threads->come, 1, memory_order_acq_rel) == count - 1) {
        atomic_store_explicit(&threads->come, 0, memory_order_relaxed);
        atomic_store_explicit(&threads->round, round + 1, memory_order_release);
        return;
    }
    for (int looks = 0; atomic_load_explicit(&threads->round, memory_order_acquire) == round;
         looks += looks < threads->patience)
        pass_time(threads, looks);
}

/* ---- workers ---- */

/* Waits until the worker has been given more than `done` orders. Either it sees the order before it
 * sleeps, or whoever gives the order sees that it is asleep, and wakes it. For that, the look at
 * the orders must not overtake the word that it is asleep. A store would do by C's rules, but
 * QEMU 7.2 for ARM on x86 lets a load overtake it: so it is an exchange. */
static void await_order(Worker *worker, unsigned done) {
    const Threads *threads = worker->threads;
    for (int looks = 0; looks < threads->patience + OFFERS; looks++) {
        if (atomic_load_explicit(&worker->orders, memory_order_acquire) != done) return;
        pass_time(threads, looks);
    }
    pthread_mutex_lock(&worker->mutex);
    atomic_exchange(&worker->asleep, true);
    while (atomic_load(&worker->orders) == done) pthread_cond_wait(&worker->order, &worker->mutex);
    atomic_store(&worker->asleep, false);
    pthread_mutex_unlock(&worker->mutex);
}

static void give_order(Worker *worker) {
    atomic_fetch_add(&worker->orders, 1);
    if (!atomic_load(&worker->asleep)) return;
    pthread_mutex_lock(&worker->mutex);
    pthread_cond_signal(&worker->order);
    pthread_mutex_unlock(&worker->mutex);
}

static void *serve(void *own) {
    Worker *worker = own;
    Threads *threads = worker->threads;
    for (unsigned done = 0;; done++) {
        await_order(worker, done);
        if (!threads->work) return NULL;
        threads->work(threads->argument, worker->index, threads->count);
        atomic_fetch_sub_explicit(&threads->working, 1, memory_order_release);
    }
}

static bool start(Threads *threads, int index) {
    Worker *worker = &threads->workers[index - 1];
    worker->threads = threads;
    worker->index = index;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->order, NULL);
    if (pthread_create(&worker->thread, NULL, serve, worker) == 0) return true;
    pthread_cond_destroy(&worker->order);
    pthread_mutex_destroy(&worker->mutex);
    return false;
}

/* Starts the workers that are still missing for `wanted` threads. They inherit that all signals are
 * blocked. */
static void start_missing(Threads *threads, int wanted) {
    if (threads->started >= wanted - 1) return;
    signals_hold();
    while (threads->started < wanted - 1 && start(threads, threads->started + 1))
        threads->started++;
    signals_release();
}

/* ---- the group ---- */

bool threads_open(Threads **opened, int most, Error *err) {
    Threads *threads;
    *opened = NULL;
    if (!memory_alloc(&threads, 1, sizeof *threads, "the threads", err)) return false;
    if (!memory_alloc(&threads->workers, (size_t)most - 1, sizeof *threads->workers, "the threads",
                      err)) {
        memory_free(threads);
        return false;
    }
    threads->most = most;
    threads->patience = most > threads_processors() ? 0 : PATIENCE;
    *opened = threads;
    return true;
}

int threads_begin(Threads *threads, int wanted, void (*work)(void *argument, int index, int count),
                  void *argument) {
    start_missing(threads, wanted);
    int count = threads->started + 1 < wanted ? threads->started + 1 : wanted;
    threads->work = work;
    threads->argument = argument;
    threads->count = count;
    atomic_store_explicit(&threads->working, count - 1, memory_order_relaxed);
    for (int i = 1; i < count; i++) give_order(&threads->workers[i - 1]);
    return count;
}

void threads_end(Threads *threads) {
    for (int looks = 0; atomic_load_explicit(&threads->working, memory_order_acquire) > 0;
         looks += looks < threads->patience)
        pass_time(threads, looks);
}

void threads_close(Threads *threads) {
    if (!threads) return;
    threads->work = NULL;
    for (int i = 0; i < threads->started; i++) {
        Worker *worker = &threads->workers[i];
        give_order(worker);
        pthread_join(worker->thread, NULL);
        pthread_cond_destroy(&worker->order);
        pthread_mutex_destroy(&worker->mutex);
    }
    memory_free(threads->workers);
    memory_free(threads);
}
