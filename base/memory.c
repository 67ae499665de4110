#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err) {
    void *bytes = NULL;
    bool fits = size == 0 || count <= (SIZE_MAX - MEMORY_ALIGNMENT) / size;
    fits = fits && count * size <= memory_installed();
    if (fits) {
        size_t padded = (count * size + MEMORY_ALIGNMENT) & ~(size_t)(MEMORY_ALIGNMENT - 1);
        bytes = aligned_alloc(MEMORY_ALIGNMENT, padded);
        if (bytes) memset(bytes, 0, padded);
    }
    memcpy(block, &bytes, sizeof bytes);
    if (bytes) return true;
    fail(err, "not enough memory for %s (%.1f MiB)", what,
         (double)count * (double)size / 1048576.0);
    err->no_memory = true;
    return false;
}

void memory_free(void *block) {
    free(block);
}

size_t memory_installed(void) {
#if defined _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return (size_t)pages * (size_t)page;
#endif
    return SIZE_MAX;
}

size_t memory_peak(void) {
#if defined __APPLE__
    const size_t unit = 1;
#else
    const size_t unit = 1024;
#endif
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * unit : 0;
}
