/* tab_system.c - base/threads.h and base/terminal.h in a browser tab: one thread, since a page from
 * a file gets no more, and the widths of characters. */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "base/terminal.h"
#include "base/threads.h"

#include <wchar.h>

int width_of(uint32_t code) {
    return wcwidth((wchar_t)code);
}

bool threads_open(Threads **threads, int most, Error *err) {
    (void)most, (void)err;
    *threads = NULL;
    return true;
}

void threads_close(Threads *threads) {
    (void)threads;
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
