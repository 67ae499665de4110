/* memory.h - large blocks, aligned for the widest vectors. */
#ifndef TRIL_BASE_MEMORY_H
#define TRIL_BASE_MEMORY_H

#include "base/error.h"

#include <stddef.h>

/* Alignment of every block in bytes: a cache line, and the widest vector register. */
enum { MEMORY_ALIGNMENT = 64 };

/* Sets *block to `count` zeroed elements of `size` bytes, aligned to MEMORY_ALIGNMENT. `count` may
 * be 0, `size` not. The caller releases it with memory_free. Fails, with *block NULL, if there is
 * not enough memory, if the machine has less (some systems would promise it), and if count * size
 * overflows. `what` names the block in the message. */
bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err);

/* Like memory_alloc, but does not clear the block; its contents are indeterminate. */
bool memory_alloc_unset(void *block, size_t count, size_t size, const char *what, Error *err);

/* Moves the first `count` elements of a block, which may be NULL, to a zeroed one of `capacity`
 * elements, and sets *block to that. Fails as memory_alloc does, but leaves *block as it is. */
bool memory_resize(void *block, size_t count, size_t capacity, size_t size, const char *what,
                   Error *err);

/* Sets *copy to a copy of the text, as memory_alloc does. */
bool memory_copy(char **copy, const char *text, Error *err);

/* Returns a block of `size` bytes, a multiple of MEMORY_ALIGNMENT, for memory_alloc; NULL if there
 * is none (machine_posix.c, machine_windows.c). */
void *memory_request(size_t size);

/* Returns the machine's memory in bytes, unlimited (SIZE_MAX) if it is unknown. */
size_t memory_installed(void);

/* Returns the size of a processor's L2 cache in bytes, a usual one if it is unknown. */
enum { USUAL_CACHE = 1 << 21 };
size_t memory_cache(void);

/* Returns the peak memory of this process so far in bytes, as far as it is known. */
size_t memory_peak(void);

/* Rounds a number of floats up to whole cache lines. */
static inline size_t memory_lines(size_t floats) {
    const size_t line = MEMORY_ALIGNMENT / sizeof(float);
    return (floats + line - 1) / line * line;
}

/* Releases a block; NULL is allowed. */
void memory_free(void *block);

#endif
