#include "base/memory.h"

#include <stdint.h>
#include <string.h>

bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err) {
    void *bytes = NULL;
    bool fits = size == 0 || count <= (SIZE_MAX - MEMORY_ALIGNMENT) / size;
    fits = fits && count * size <= memory_installed();
    if (fits) {
        size_t padded = (count * size + MEMORY_ALIGNMENT) & ~(size_t)(MEMORY_ALIGNMENT - 1);
        bytes = memory_request(padded);
        if (bytes) memset(bytes, 0, padded);
    }
    memcpy(block, &bytes, sizeof bytes);
    if (bytes) return true;
    fail(err, "not enough memory for %s (%.1f MiB)", what,
         (double)count * (double)size / 1048576.0);
    err->no_memory = true;
    return false;
}
