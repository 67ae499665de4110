/* memory.h - large zeroed blocks, aligned for the widest vectors. */
#ifndef TRIL_MEMORY_H
#define TRIL_MEMORY_H

#include "base/error.h"

#include <stddef.h>

/* Alignment in bytes of every block: a cache line, and the widest vector register. */
enum { MEMORY_ALIGNMENT = 64 };

/* Sets *block to `count` zeroed elements of `size` bytes, aligned to MEMORY_ALIGNMENT, to be
 * released with memory_free. `what` names the block in the message if there is no room for it, if
 * it is larger than all the machine's memory (which some systems would promise all the same) or if
 * count * size overflows; *block is then NULL. count = 0 gives a block of no elements. */
bool memory_alloc(void *block, size_t count, size_t size, const char *what, Error *err);

/* The memory that this machine has, in bytes; SIZE_MAX if the system does not say. */
size_t memory_installed(void);

/* The most memory that this process has taken so far, in bytes, as the system counts it; 0 if it
 * does not say. */
size_t memory_peak(void);

/* Releases a block; NULL is allowed. */
void memory_free(void *block);

#endif
