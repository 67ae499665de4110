#include "base/memory.h"

#include <stdint.h>
#include <string.h>
#if defined __SANITIZE_ADDRESS__ /* which then finds each access beyond a block's elements */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)0)
#endif

static size_t padded_size(size_t count, size_t size) {
    return (count * size + MEMORY_ALIGNMENT) & ~(size_t)(MEMORY_ALIGNMENT - 1);
}

bool memory_alloc_unset(void *block, size_t count, size_t size, const char *what, Error *err) {
    void *bytes = NULL;
    bool fits = count <= (SIZE_MAX - MEMORY_ALIGNMENT) / size && count * size <= memory_installed();
    if (fits) bytes = memory_request(padded_size(count, size));
    memcpy(block, &bytes, sizeof bytes);
    if (bytes) {
        ASAN_POISON_MEMORY_REGION((char *)bytes + count * size,
                                  padded_size(count, size) - count * size);
        return true;
    }
    return fail_memory(err, "not enough memory for %s (%.1f MiB)", what,
                       (double)count * (double)size / 1048576.0);
}

bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err) {
    void *bytes;
    if (!memory_alloc_unset(block, count, size, what, err)) return false;
    memcpy(&bytes, block, sizeof bytes);
    memset(bytes, 0, count * size);
    return true;
}

bool memory_resize(void *block, size_t count, size_t capacity, size_t size, const char *what,
                   Error *err) {
    void *old, *moved;
    if (!memory_alloc(&moved, capacity, size, what, err)) return false;
    memcpy(&old, block, sizeof old);
    if (count > 0) memcpy(moved, old, count * size);
    memory_free(old);
    memcpy(block, &moved, sizeof moved);
    return true;
}

bool memory_copy(char **copy, const char *text, Error *err) {
    const size_t size = strlen(text) + 1;
    if (!memory_alloc(copy, size, 1, text, err)) return false;
    memcpy(*copy, text, size);
    return true;
}
