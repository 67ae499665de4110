#if defined __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/threads.h"

#include <sched.h>
#include <unistd.h>

int threads_processors(void) {
#if defined __linux__
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) == 0) return CPU_COUNT(&own);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
