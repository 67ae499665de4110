/* faulty.c - linked into `train` and `sample` to make one memory request fail: the one whose
 * number, from 1, is in the environment variable TRIL_FAIL_AT. Creates the file that TRIL_FAILED
 * names when it fails.
 *
 * base/memory.c requests memory from aligned_alloc. Under the sanitizers only that is replaced,
 * because their allocator finds leaks. Otherwise the requests of libc fail too. */
#include "tests/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static bool fails(void) {
    static atomic_int count;
    const char *number = getenv("TRIL_FAIL_AT"), *path = getenv("TRIL_FAILED");
    if (!number || !path || atomic_fetch_add(&count, 1) + 1 != atoi(number)) return false;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    errno = ENOMEM;
    return true;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : request_memory(alignment, size);
}

#if defined __GLIBC__ && !SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return fails() ? NULL : __libc_realloc(block, size);
}
#endif
