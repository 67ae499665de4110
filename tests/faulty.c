/* faulty.c - linked into `train` and `sample` to make one memory request or one system call fail:
 * the one whose number, from 1, is in the environment variable TRIL_FAIL_REQUEST or TRIL_FAIL_CALL.
 * If it is the name of a function of libc, all its calls fail. Appends a line to the file that
 * TRIL_FAILED names: the function, and a number for the place in the program. If TRIL_FAIL_... is
 * 0, all get such a line, and none fails.
 *
 * base/memory.c requests memory from aligned_alloc. Under the sanitizers only that is replaced,
 * because their allocator finds leaks. Otherwise the requests of libc fail too. */
#define _GNU_SOURCE
#include "tests/system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

/* The functions under way. The innermost tell the places that matter apart. */
typedef struct {
    uint64_t hash;
    int count;
} Place;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *frame, void *to) {
    Place *place = to;
    place->hash = (place->hash ^ _Unwind_GetIP(frame)) * 0x100000001b3;
    return ++place->count < 9 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool fails(const char *variable, atomic_int *count, const char *name, int why) {
    const char *number = getenv(variable), *path = getenv("TRIL_FAILED");
    const int now = atomic_fetch_add(count, 1) + 1;
    int at = number ? atoi(number) : -1;
    if (number && strcmp(number, name) == 0) at = now;
    if (!path || (at != 0 && at != now)) return false;
    char line[64];
    Place place = {0, 0};
    const int before = errno, file = openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
    _Unwind_Backtrace(add_frame, &place);
    const int length = snprintf(line, sizeof line, "%s %" PRIu64 "\n", name, place.hash);
    if (writev(file, &(struct iovec){line, (size_t)length}, 1) == length) close(file);
    errno = at ? why : before;
    return at != 0;
}

/* ---- memory ---- */

static bool lacks_memory(void) {
    static atomic_int requests;
    return fails("TRIL_FAIL_REQUEST", &requests, "memory", ENOMEM);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return lacks_memory() ? NULL : request_memory(alignment, size);
}

#if defined __GLIBC__ && !SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size) {
    return lacks_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return lacks_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return lacks_memory() ? NULL : __libc_realloc(block, size);
}
#endif

/* ---- system calls ---- */

#if FAULTY_SYSTEM
static bool call_fails(const char *name) {
    static atomic_int calls;
    return fails("TRIL_FAIL_CALL", &calls, name, EIO);
}

/* Defines a function of libc that fails in its turn. */
#define CALL(type, name, failure, parameters, arguments)               \
    type name parameters {                                             \
        static type(*libc) parameters;                                 \
        if (!libc) libc = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        return call_fails(#name) ? failure : libc arguments;           \
    }
CALL(ssize_t, read, -1, (int file, void *to, size_t size), (file, to, size))
CALL(ssize_t, write, -1, (int file, const void *from, size_t size), (file, from, size))
CALL(int, fsync, -1, (int file), (file))
CALL(int, ftruncate, -1, (int file, off_t size), (file, size))
CALL(int, fstat, -1, (int file, struct stat *found), (file, found))
CALL(int, stat, -1, (const char *path, struct stat *found), (path, found))
CALL(int, lstat, -1, (const char *path, struct stat *found), (path, found))
CALL(int, access, -1, (const char *path, int mode), (path, mode))
CALL(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, rmdir, -1, (const char *path), (path))
CALL(int, unlink, -1, (const char *path), (path))
CALL(int, rename, -1, (const char *from, const char *to), (from, to))
CALL(DIR *, opendir, NULL, (const char *path), (path))
CALL(struct dirent *, readdir, NULL, (DIR * folder), (folder))
CALL(int, dup, -1, (int file), (file))
CALL(int, dup2, -1, (int file, int as), (file, as))
CALL(int, pthread_create, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *with),
     (thread, how, run, with))

/* The memory that a program says it takes would differ from run to run. */
int getrusage(__rusage_who_t who, struct rusage *usage) {
    (void)who;
    *usage = (struct rusage){.ru_maxrss = 8192};
    return 0;
}

int open(const char *path, int flags, ...) {
    va_list mode;
    va_start(mode, flags);
    int file = call_fails("open") ? -1 : openat(AT_FDCWD, path, flags, va_arg(mode, int));
    va_end(mode);
    return file;
}

int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if ((command == F_SETLK || command == F_GETLK) && call_fails("fcntl")) return -1;
    return (int)syscall(SYS_fcntl, file, command, argument);
}

/* Streams that call these functions. */

static FILE *streams[256]; /* by their files */

static ssize_t stream_read(void *file, char *to, size_t size) {
    return read((int)(intptr_t)file, to, size);
}

static ssize_t stream_write(void *file, const char *from, size_t size) {
    ssize_t wrote = write((int)(intptr_t)file, from, size);
    return wrote < 0 ? 0 : wrote;
}

static int stream_seek(void *file, off_t *offset, int from) {
    off_t at = call_fails("lseek") ? -1 : lseek((int)(intptr_t)file, *offset, from);
    if (at >= 0) *offset = at;
    return at < 0 ? -1 : 0;
}

static int stream_close(void *file) {
    streams[(intptr_t)file] = NULL;
    return close((int)(intptr_t)file);
}

static FILE *stream_of(int file, const char *mode) {
    const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
    return streams[file] = fopencookie((void *)(intptr_t)file, mode, functions);
}

FILE *fdopen(int file, const char *mode) {
    return call_fails("fdopen") ? NULL : stream_of(file, mode);
}

int fileno(FILE *stream) {
    for (int file = 0; file < 256; file++)
        if (streams[file] == stream) return file;
    return STDERR_FILENO;
}

__attribute__((constructor)) static void replace_output(void) {
    if (getenv("TRIL_FAIL_CALL")) stdout = stream_of(STDOUT_FILENO, "w");
}
#endif
