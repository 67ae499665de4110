/* threads.h - a group of threads that work together, meet at barriers, and wait for more work. */
#ifndef TRIL_BASE_THREADS_H
#define TRIL_BASE_THREADS_H

#include "base/error.h"

typedef struct Threads Threads;

/* The processors that this program may use, at least 1. */
int threads_processors(void);

/* Makes a group of at most `most` >= 1 threads, the calling one among them. The others start when
 * threads_run first needs them. Signals go to other threads of the program. threads_close ends
 * them; NULL is allowed. Refused: no memory; *threads is then NULL. */
bool threads_open(Threads **threads, int most, Error *err);
void threads_close(Threads *threads);

/* Calls work(argument, index, count) in `count` threads, for each index from 0 to count - 1, and
 * returns when all have returned. The calling thread has index 0. `count` is `wanted`, from 1 to
 * `most`, or less if the system refuses to start so many. Only one thread at a time may call it. */
void threads_run(Threads *threads, int wanted, void (*work)(void *argument, int index, int count),
                 void *argument);

/* Inside `work`: waits until all `count` threads have called it. What each wrote before, all see
 * afterwards. */
void threads_barrier(Threads *threads, int count);

#endif
