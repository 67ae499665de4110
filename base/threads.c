/* threads.c - POSIX threads, which mingw-w64 has for Windows, too.
 *
 * A waiting thread polls a number in memory: first as fast as it can, then with pauses. It does so
 * for some tens of microseconds, because equal shares of work end closer together than that. Then
 * it yields the processor to other programs between polls: on a busy machine, polling alone would
 * use the time that the late thread needs. If there are more threads than processors, a waiting
 * thread yields from the start. A thread without work sleeps after about a millisecond. */
#include "base/threads.h"
#include "base/memory.h"
#include "base/terminal.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { AT_ONCE = 100, PATIENCE = 2000, YIELDS = 1000 }; /* polls */

/* A thread beside the calling one, on a cache line that no other worker reads. */
typedef struct {
    _Alignas(MEMORY_ALIGNMENT) atomic_uint tasks; /* given to it so far */
    Threads *threads;
    int index;
    pthread_t thread;
} Worker;

struct Threads {
    int most, started;
    pid_t process;
    int patience;          /* polls before a waiting thread yields the processor */
    pthread_mutex_t mutex; /* while workers go to sleep and wake */
    pthread_cond_t task;
    atomic_int asleep;                    /* workers */
    _Alignas(MEMORY_ALIGNMENT) bool ends; /* the task is to end, not to work */
    void *argument;
    void (*work)(void *argument, int index, int count);
    int count;
    /* each on its own cache line: waiting threads read one while others write another */
    _Alignas(MEMORY_ALIGNMENT) atomic_int working; /* workers that have not returned yet */
    _Alignas(MEMORY_ALIGNMENT) atomic_int come;    /* threads at the barrier */
    _Alignas(MEMORY_ALIGNMENT) atomic_uint round;  /* barriers passed */
    Worker workers[];                              /* [most - 1] */
};

/* ---- waiting ---- */

/* Waits before the next poll: spins, then executes a pause instruction, then yields. */
static inline void pause_poll(const Threads *threads, int polls) {
    if (polls >= threads->patience) {
        sched_yield();
    } else if (polls > AT_ONCE) {
#if defined GNU_C && defined __x86_64__
        __builtin_ia32_pause();
#elif defined GNU_C && defined __aarch64__
        __asm__ volatile("yield");
#endif
    }
}

void threads_barrier(Threads *threads, int count) {
    if (count == 1) return;
    unsigned round = atomic_load_explicit(&threads->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&threads->come, 1, memory_order_acq_rel) == count - 1) {
        atomic_store_explicit(&threads->come, 0, memory_order_relaxed);
        atomic_store_explicit(&threads->round, round + 1, memory_order_release);
        return;
    }
    for (int polls = 0; atomic_load_explicit(&threads->round, memory_order_acquire) == round;
         polls += polls < threads->patience)
        pause_poll(threads, polls);
}

/* ---- workers ---- */

/* Waits for task number done + 1. No wake-up is lost: either the worker sees the task before it
 * sleeps, or start_tasks sees that it is asleep. For that, the load of `tasks` must not be
 * reordered before the change of `asleep`. By the rules of C a store would be enough, but QEMU 7.2
 * for ARM on x86 reorders a load before it. So the change is an addition. */
static void await_task(Worker *worker, unsigned done) {
    Threads *threads = worker->threads;
    for (int polls = 0; polls < threads->patience + YIELDS; polls++) {
        if (atomic_load_explicit(&worker->tasks, memory_order_acquire) != done) return;
        pause_poll(threads, polls);
    }
    pthread_mutex_lock(&threads->mutex);
    atomic_fetch_add(&threads->asleep, 1);
    while (atomic_load(&worker->tasks) == done) pthread_cond_wait(&threads->task, &threads->mutex);
    atomic_fetch_add(&threads->asleep, -1);
    pthread_mutex_unlock(&threads->mutex);
}

/* Gives a task to the first `count` workers, and wakes those that sleep. */
static void start_tasks(Threads *threads, int count) {
    for (int i = 0; i < count; i++) atomic_fetch_add(&threads->workers[i].tasks, 1);
    if (atomic_load(&threads->asleep) == 0) return;
    pthread_mutex_lock(&threads->mutex);
    pthread_cond_broadcast(&threads->task);
    pthread_mutex_unlock(&threads->mutex);
}

static void *serve(void *own) {
    Worker *worker = own;
    Threads *threads = worker->threads;
    for (unsigned done = 0;; done++) {
        await_task(worker, done);
        if (threads->ends) return NULL;
        threads->work(threads->argument, worker->index, threads->count);
        atomic_fetch_add_explicit(&threads->working, -1, memory_order_release);
    }
}

/* ---- the group ---- */

bool threads_open(Threads **opened, int most, Error *err) {
    size_t size = sizeof **opened + (size_t)(most - 1) * sizeof(Worker);
    if (!memory_alloc(opened, 1, size, "the threads", err)) return false;
    Threads *threads = *opened;
    threads->most = most;
    threads->process = getpid();
    threads->patience = most > threads_processors() ? 0 : PATIENCE;
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->task, NULL);
    return true;
}

/* New workers inherit that all signals are held. */
int threads_begin(Threads *threads, int wanted, void (*work)(void *argument, int index, int count),
                  void *argument) {
    if (threads->started < wanted - 1) {
        signals_hold();
        for (; threads->started < wanted - 1; threads->started++) {
            Worker *worker = &threads->workers[threads->started];
            worker->threads = threads;
            worker->index = threads->started + 1;
            if (pthread_create(&worker->thread, NULL, serve, worker) != 0) break;
        }
        signals_release();
    }
    int count = threads->started + 1 < wanted ? threads->started + 1 : wanted;
    threads->work = work;
    threads->argument = argument;
    threads->count = count;
    atomic_store_explicit(&threads->working, count - 1, memory_order_relaxed);
    start_tasks(threads, count - 1);
    return count;
}

void threads_end(Threads *threads) {
    for (int polls = 0; atomic_load_explicit(&threads->working, memory_order_acquire) > 0;
         polls += polls < threads->patience)
        pause_poll(threads, polls);
}

void threads_close(Threads *threads) {
    if (!threads) return;
    if (threads->process == getpid()) { /* a fork does not copy the workers */
        threads->ends = true;
        start_tasks(threads, threads->started);
        for (int i = 0; i < threads->started; i++) pthread_join(threads->workers[i].thread, NULL);
        pthread_cond_destroy(&threads->task);
        pthread_mutex_destroy(&threads->mutex);
    }
    memory_free(threads);
}
