#include "base/file.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file or a pipe and reads its status. Refuses devices: some have no end. */
static bool open_to_read(const char *path, int *file, struct stat *status, Error *err) {
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*file < 0) return fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    bool ok =
        fstat(*file, status) == 0 || fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    if (ok && S_ISDIR(status->st_mode)) ok = fail(err, "%s: is a directory, not a file", path);
    if (ok && (S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode)))
        ok = fail(err, "%s: is a device, not a file", path);
    if (!ok) close(*file);
    return ok;
}

/* Reads up to `capacity` bytes. *got is smaller only at the end of the file. */
static bool read_some(int file, const char *path, char *to, size_t capacity, size_t *got,
                      Error *err) {
    for (*got = 0; *got < capacity;) {
        ssize_t more = read(file, to + *got, capacity - *got);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return fail(err, "%s: cannot be read: %s", path, strerror(errno));
        if (more == 0) break;
        *got += (size_t)more;
    }
    return true;
}

/* Reads the rest of a file into *bytes, owned by the caller. `expected` is its length if known. */
static bool read_rest(int file, const char *path, size_t expected, char **bytes, size_t *length,
                      Error *err) {
    size_t capacity = expected < 65536 ? 65536 : expected + 1, got;
    *length = 0;
    bool ok = memory_alloc(bytes, capacity + 1, 1, path, err);
    while (ok) {
        ok = read_some(file, path, *bytes + *length, capacity - *length, &got, err);
        *length += got;
        if (!ok || *length < capacity) break;
        /* A pipe, or a file that has grown: double the capacity. */
        char *wider;
        ok = memory_alloc(&wider, 2 * capacity + 1, 1, path, err);
        if (!ok) break;
        memcpy(wider, *bytes, *length);
        memory_free(*bytes);
        *bytes = wider;
        capacity *= 2;
    }
    if (ok) {
        (*bytes)[*length] = 0;
        return true;
    }
    memory_free(*bytes);
    *bytes = NULL;
    return false;
}

bool file_read(const char *path, char **bytes, size_t *length, Error *err) {
    int file;
    struct stat status;
    *bytes = NULL;
    *length = 0;
    if (!open_to_read(path, &file, &status, err)) return false;
    size_t expected = status.st_size > 0 ? (size_t)status.st_size : 0;
    bool ok = read_rest(file, path, expected, bytes, length, err);
    close(file);
    return ok;
}

bool file_open(File *file, const char *path, Error *err) {
    struct stat status;
    *file = (File){.path = path, .descriptor = -1};
    if (!open_to_read(path, &file->descriptor, &status, err)) {
        file->descriptor = -1;
        return false;
    }
    if (S_ISREG(status.st_mode)) {
        file->length = (size_t)status.st_size;
        return true;
    }
    bool ok = read_rest(file->descriptor, path, 0, &file->bytes, &file->length, err);
    if (!ok) file_close(file);
    return ok;
}

bool file_take(File *file, void *to, size_t count, Error *err) {
    size_t got = 0, left = file->length - file->at;
    if (file->bytes) {
        got = count < left ? count : left;
        memcpy(to, file->bytes + file->at, got);
    } else if (!read_some(file->descriptor, file->path, to, count, &got, err)) {
        return false;
    }
    file->at += got;
    return got == count || fail(err, "%s: cannot be read: it ends too early", file->path);
}

void file_close(File *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    memory_free(file->bytes);
    *file = (File){.descriptor = -1};
}

static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t put = write(file, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

char *file_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A rename survives a power cut only after its directory is on the disk. */
static void flush_directory_of(const char *path) {
    char *folder = file_folder(path);
    int file = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        fsync(file);
        close(file);
    }
    free(folder);
}

/* ---- temporary files ---- */

/* A temporary name is the prefix, random hexadecimal digits and the suffix. */
static const char prefix[] = ".tril-", suffix[] = ".tmp";
enum { DIGITS = 16, TEMPORARY = sizeof prefix + DIGITS + sizeof suffix };

/* The temporary file being written. A global, because file_abandon runs in a signal handler. */
static char *volatile under_way;

/* A key that differs between processes and moments. */
static uint64_t random_start(void) {
    return (uint64_t)getpid() << 32 ^ (uint64_t)(clock_seconds() * 1e9);
}

/* Creates a new file in the folder of `path`. Locks it, so that other programs see that it is in
 * use. The lock ends with the process. */
static int create_temporary(const char *path, char *name, size_t capacity) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0, file = -1;
    uint64_t key = random_start();
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (uint64_t i = 0; i < 100; i++) {
        snprintf(name, capacity, "%.*s%s%016" PRIx64 "%s", folder, path, prefix,
                 random_bits(key, i), suffix);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file >= 0) fcntl(file, F_SETLK, &lock);
        if (file >= 0 || errno != EEXIST) break;
    }
    return file;
}

bool file_make_temporary_folder(const char *folder, char **path, Error *err) {
    size_t capacity = strlen(folder) + 1 + TEMPORARY;
    uint64_t key = random_start();
    if (!memory_alloc(path, capacity, 1, folder, err)) return false;
    for (uint64_t i = 0; i < 100; i++) {
        snprintf(*path, capacity, "%s/%s%016" PRIx64 "%s", folder, prefix, random_bits(key, i),
                 suffix);
        if (mkdir(*path, 0700) == 0) return true;
        if (errno != EEXIST) break;
    }
    fail(err, "%s: no folder can be created in it: %s", folder, strerror(errno));
    memory_free(*path);
    *path = NULL;
    return false;
}

void file_abandon(void) {
    if (under_way) unlink(under_way);
}

bool file_is_temporary(const char *name) {
    size_t begin = sizeof prefix - 1, end = sizeof suffix - 1;
    return strlen(name) == begin + DIGITS + end && strncmp(name, prefix, begin) == 0 &&
           strspn(name + begin, "0123456789abcdef") == DIGITS &&
           strcmp(name + begin + DIGITS, suffix) == 0;
}

void file_remove_abandoned(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat status;
    int file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
        fcntl(file, F_SETLK, &lock) == 0)
        unlink(path);
    close(file);
}

bool file_write(const char *path, const FilePart *parts, size_t count, Error *err) {
    size_t capacity = strlen(path) + TEMPORARY;
    char *temporary;
    if (!memory_alloc(&temporary, capacity, 1, path, err)) return false;
    int file = create_temporary(path, temporary, capacity);
    if (file < 0) {
        fail(err, "%s: cannot be created: %s", path, strerror(errno));
        memory_free(temporary);
        return false;
    }
    under_way = temporary;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) ok = write_all(file, parts[i].bytes, parts[i].length);
    ok = ok && fsync(file) == 0 && rename(temporary, path) == 0;
    int why = errno;
    close(file); /* ends the lock; fsync has already reported write errors */
    under_way = NULL;
    if (ok) {
        flush_directory_of(path);
    } else {
        unlink(temporary);
        fail(err, "%s: cannot be written: %s", path, strerror(why));
    }
    memory_free(temporary);
    return ok;
}

void file_hold_standard_streams(void) {
    int file;
    do file = open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0) close(file);
}

bool file_flush_output(Error *err) {
    bool whole = fflush(stdout) == 0 && !ferror(stdout);
    return whole || fail(err, "standard output cannot be written");
}

bool file_is_directory(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_begins(const char *path, const char *text) {
    char begin[256];
    struct stat status;
    size_t length = strlen(text);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* opening a pipe would block */
    if (file < 0) return false;
    bool same = length < sizeof begin && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                read(file, begin, length) == (ssize_t)length && memcmp(begin, text, length) == 0;
    close(file);
    return same;
}

bool file_make_parent(const char *path, Error *err) {
    char *copy;
    size_t length = strlen(path);
    if (!memory_alloc(&copy, length + 1, 1, path, err)) return false;
    memcpy(copy, path, length);
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool there = mkdir(copy, 0777) == 0;
        int why = errno;
        if (!there && !file_is_directory(copy))
            ok = fail(err, "%s: cannot be created: %s", copy, strerror(why));
        *slash = '/';
    }
    memory_free(copy);
    return ok;
}

static bool check_empty(const char *path, Error *err) {
    int entries = 0;
    DIR *directory = opendir(path);
    if (!directory) return fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    errno = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    int why = errno;
    closedir(directory);
    if (why) return fail(err, "%s: cannot be read: %s", path, strerror(why));
    return entries == 0 || fail(err, "%s: is there already, and not empty", path);
}

bool file_make_directory(const char *path, Error *err) {
    if (!*path) return fail(err, "an empty name cannot be that of a directory");
    if (!file_make_parent(path, err)) return false;
    if (mkdir(path, 0777) == 0) return true;
    int why = errno;
    if (file_is_directory(path)) return check_empty(path, err);
    return fail(err, "%s: cannot be created: %s", path, strerror(why));
}

bool file_within(const char *directory, const char *name, char **path, Error *err) {
    size_t capacity = strlen(directory) + strlen(name) + 2;
    if (!memory_alloc(path, capacity, 1, name, err)) return false;
    snprintf(*path, capacity, "%s/%s", directory, name);
    return true;
}

void file_remove_directory(const char *path, const char *const *names, int count) {
    Error none;
    char *within;
    for (int i = 0; i < count; i++) {
        if (!file_within(path, names[i], &within, &none)) continue;
        unlink(within);
        memory_free(within);
    }
    rmdir(path);
}
