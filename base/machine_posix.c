#define _GNU_SOURCE /* madvise, sched_getaffinity */
#include "base/memory.h"
#include "base/threads.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#if !defined __wasm__
#include <sys/mman.h>
#include <sys/resource.h>
#endif
#include <unistd.h>

#if defined MADV_HUGEPAGE
/* Pages of 2 MiB instead of 4 KiB save the processor most searches for addresses. Only pages that
 * the block fills are asked for, so it takes no more memory. */
void *memory_request(size_t size) {
    const size_t page = (size_t)1 << 21;
    if (size < page) return aligned_alloc(MEMORY_ALIGNMENT, size);
    void *block = aligned_alloc(page, (size + page - 1) / page * page);
    if (block) (void)madvise(block, size / page * page, MADV_HUGEPAGE); /* may be refused */
    return block;
}
#else
void *memory_request(size_t size) {
    return aligned_alloc(MEMORY_ALIGNMENT, size);
}
#endif

void memory_free(void *block) {
    free(block);
}

size_t memory_installed(void) {
#if defined MEMORY_LIMIT /* of a build for WebAssembly, which the linker is told, too */
    return MEMORY_LIMIT;
#else
#if defined _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return (size_t)pages * (size_t)page;
#endif
    return SIZE_MAX;
#endif
}

size_t memory_peak(void) {
#if defined __wasm__
    return __builtin_wasm_memory_size(0) * 65536; /* it never shrinks */
#else
#if defined __APPLE__
    const size_t unit = 1;
#else
    const size_t unit = 1024;
#endif
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * unit : 0;
#endif
}

int threads_processors(void) {
    long count = 1;
#if defined __linux__
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) == 0) return CPU_COUNT(&own);
#endif
#if !defined __wasm__
    count = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return count > 0 ? (int)count : 1;
}
