/* memory.h - large zeroed blocks, aligned for the widest vectors. */
#ifndef TRIL_BASE_MEMORY_H
#define TRIL_BASE_MEMORY_H

#include "base/error.h"

#include <stddef.h>

/* Alignment of every block in bytes: a cache line, and the widest vector register. */
enum { MEMORY_ALIGNMENT = 64 };

/* Sets *block to `count` zeroed elements of `size` bytes, aligned to MEMORY_ALIGNMENT. The caller
 * releases it with memory_free. count = 0 gives a block of no elements. Refused, with *block NULL:
 * no memory, more than the machine has (some systems would promise it), an overflow of count *
 * size. `what` names the block in the message. */
bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err);

/* What memory_alloc asks of the system (machine_posix.c, machine_windows.c): a block of `size`
 * bytes, a multiple of MEMORY_ALIGNMENT; NULL if there is none. */
void *memory_request(size_t size);

/* The machine's memory in bytes. SIZE_MAX if the system does not say. */
size_t memory_installed(void);

/* The peak memory of this process so far in bytes, as the system counts it. 0 if the system does
 * not say. */
size_t memory_peak(void);

/* The floats of whole cache lines that hold `floats` of them: what starts behind them is aligned.
 */
static inline size_t memory_lines(size_t floats) {
    const size_t line = MEMORY_ALIGNMENT / sizeof(float);
    return (floats + line - 1) / line * line;
}

/* Releases a block; NULL is allowed. */
void memory_free(void *block);

#endif
