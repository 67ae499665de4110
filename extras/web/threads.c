/* threads.c - base/threads.h with one thread: a page from a file gets no more. */
#include "base/threads.h"
#include "base/memory.h"

struct Threads {
    char none;
};

int threads_processors(void) {
    return 1;
}

bool threads_open(Threads **threads, int most, Error *err) {
    (void)most;
    return memory_alloc(threads, 1, sizeof **threads, "the threads", err);
}

void threads_close(Threads *threads) {
    memory_free(threads);
}

int threads_begin(Threads *threads, int wanted, void (*work)(void *argument, int index, int count),
                  void *argument) {
    (void)threads, (void)wanted, (void)work, (void)argument;
    return 1;
}

void threads_end(Threads *threads) {
    (void)threads;
}

void threads_barrier(Threads *threads, int count) {
    (void)threads, (void)count;
}
