/* threads.h - the processors of this machine; a group of threads that work together, meet at
 * barriers, and wait for more work. */
#ifndef TRIL_BASE_THREADS_H
#define TRIL_BASE_THREADS_H

#include "base/error.h"

typedef struct Threads Threads;

/* Returns the number of processors that this program may use, at least 1. */
int threads_processors(void);

/* Makes a group of at most `most` >= 1 threads, the calling one among them. The others start when
 * threads_begin first needs them. Signals go to other threads of the program. threads_close ends
 * them; NULL is allowed. Fails, with *threads NULL, without memory. */
bool threads_open(Threads **threads, int most, Error *err);
void threads_close(Threads *threads);

/* Starts work(argument, i, count) for 1 <= i < count, each in its own thread, and returns `count`:
 * `wanted`, from 1 to `most`, or less if the system cannot start so many. The caller does the work
 * of index 0 itself, then calls threads_end, which waits for the others. Only one thread at a time
 * may call them. */
int threads_begin(Threads *threads, int wanted, void (*work)(void *argument, int index, int count),
                  void *argument);
void threads_end(Threads *threads);

/* Waits, inside `work`, for all `count` threads. Afterwards each sees the earlier writes of all. */
void threads_barrier(Threads *threads, int count);

#endif
