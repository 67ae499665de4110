/* blocks.c - linked into the test programs, and into the programs of tests/faulty.c: keeps a list
 * of the blocks that base/memory.c requests. A program that ends before it has released all of
 * them, or closed all files, fails. */
#include "tests/system.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined __GLIBC__ && !SANITIZED
enum { MAX_BLOCKS = 1 << 16, ALIGNMENT = 64 };

static void *blocks[MAX_BLOCKS];
static int count, files;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static int open_files(void) {
    int found = 0;
    for (int file = 0; file < 256; file++) found += fcntl(file, F_GETFD) >= 0;
    return found;
}

static void check(void) {
    if (count == 0 && open_files() <= files) return;
    fprintf(stderr, "%d blocks of memory and %d files were not released\n", count,
            open_files() - files);
    _exit(1);
}

static void add(void *block) {
    static bool begun;
    while (atomic_flag_test_and_set(&busy)) continue;
    if (!begun) files = open_files();
    if (!begun) atexit(check);
    begun = true;
    if (count < MAX_BLOCKS) blocks[count++] = block;
    atomic_flag_clear(&busy);
}

void __libc_free(void *block);

void free(void *block) {
    int i = -1;
    if (block && (uintptr_t)block % ALIGNMENT == 0) {
        while (atomic_flag_test_and_set(&busy)) continue;
        for (i = count - 1; i >= 0 && blocks[i] != block;) i--;
        if (i >= 0) blocks[i] = blocks[--count];
        atomic_flag_clear(&busy);
    }
    __libc_free(block);
}

__attribute__((weak)) void *aligned_alloc(size_t alignment, size_t size) {
    return request_memory(alignment, size);
}

void keep_memory(void) {
    count = 0;
}
#else
static void add(void *block) {
    (void)block;
}

void keep_memory(void) {}
#endif

void *request_memory(size_t alignment, size_t size) {
    void *block = NULL;
    if (posix_memalign(&block, alignment, size) != 0) return NULL;
    add(block);
    return block;
}
