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

/* Pages of 2 MiB instead of 4 KiB save the processor most searches for addresses. Only pages that
 * the block fills are requested, so it takes no more memory. */
void *memory_request(size_t size) {
#if defined MADV_HUGEPAGE
    const size_t page = (size_t)1 << 21;
    if (size >= page) {
        void *block = aligned_alloc(page, (size + page - 1) / page * page);
        if (block) (void)madvise(block, size / page * page, MADV_HUGEPAGE); /* may fail */
        return block;
    }
#endif
    return aligned_alloc(MEMORY_ALIGNMENT, size);
}

void memory_free(void *block) {
    free(block);
}

size_t memory_installed(void) {
#if defined MEMORY_LIMIT /* for WebAssembly; also passed to the linker */
    return MEMORY_LIMIT;
#elif defined _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t most = SIZE_MAX / (page > 0 ? (size_t)page : 1);
    return pages > 0 && page > 0 && (size_t)pages <= most ? (size_t)pages * (size_t)page : SIZE_MAX;
#else
    return SIZE_MAX;
#endif
}

size_t memory_cache(void) {
    long size = 0;
#if defined _SC_LEVEL2_CACHE_SIZE
    size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return size > 0 ? (size_t)size : USUAL_CACHE;
}

size_t memory_peak(void) {
#if defined __wasm__
    return __builtin_wasm_memory_size(0) * 65536; /* it never shrinks */
#else
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined __APPLE__
    return (size_t)usage.ru_maxrss;
#else
    return (size_t)usage.ru_maxrss * 1024;
#endif
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
