#include "base/file.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/filesystem.h"
#include "base/memory.h"
#include "base/random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens a file or a pipe and reads its status. Refuses devices: some have no end. */
static bool open_to_read(const char *path, int *file, FileStatus *status, Error *err) {
    *file = filesystem_open(path, OPEN_READ);
    if (*file < 0) {
        int why = errno;
        if (file_is_directory(path)) return fail(err, "%s: is a directory, not a file", path);
        return fail(err, "%s: cannot be opened: %s", path, strerror(why));
    }
    bool ok = filesystem_status(*file, status) ||
              fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    if (ok && status->kind == FILE_FOLDER) ok = fail(err, "%s: is a directory, not a file", path);
    if (ok && status->kind == FILE_DEVICE) ok = fail(err, "%s: is a device, not a file", path);
    if (!ok) close(*file);
    return ok;
}

/* Reads up to `capacity` bytes. *got is smaller only at the end of the file. */
static bool read_some(int file, const char *path, char *to, size_t capacity, size_t *got,
                      Error *err) {
    for (*got = 0; *got < capacity;) {
        int64_t more = filesystem_read(file, to + *got, capacity - *got);
        if (more < 0) return fail(err, "%s: cannot be read: %s", path, strerror(errno));
        if (more == 0) break;
        *got += (size_t)more;
    }
    return true;
}

/* Reads to the end of the file into *bytes, owned by the caller, and adds a zero byte. */
static bool read_rest(int file, const char *path, char **bytes, size_t *length, Error *err) {
    enum { PIECE = 65536 };
    Buffer all = buffer_begin(path, err);
    size_t got = PIECE;
    bool ok = true;
    while (ok && got == PIECE) {
        ok = buffer_reserve(&all, PIECE) &&
             read_some(file, path, all.bytes + all.length, PIECE, &got, err);
        all.length += ok ? got : 0;
    }
    if (ok) all.bytes[all.length] = 0;
    if (!ok) buffer_end(&all);
    *bytes = all.bytes;
    *length = all.length;
    return ok;
}

bool file_open(File *file, const char *path, Error *err) {
    FileStatus status;
    *file = (File){.path = path, .descriptor = -1};
    if (!open_to_read(path, &file->descriptor, &status, err)) {
        file->descriptor = -1;
        return false;
    }
    file->length = (size_t)status.size;
    if (status.kind == FILE_REGULAR && status.size > 0) return true;
    /* a pipe, or a file of the system without a size */
    bool ok = read_rest(file->descriptor, path, &file->bytes, &file->length, err);
    if (!ok) file_close(file);
    return ok;
}

bool file_read(const char *path, char **bytes, size_t *length, Error *err) {
    File file;
    *bytes = NULL;
    *length = 0;
    if (!file_open(&file, path, err)) return false;
    bool ok = true;
    if (file.bytes) {
        *bytes = file.bytes;
        file.bytes = NULL;
    } else {
        ok = memory_alloc(bytes, file.length + 1, 1, path, err) &&
             file_take(&file, *bytes, file.length, err);
    }
    if (ok) {
        *length = file.length;
    } else {
        memory_free(*bytes);
        *bytes = NULL;
    }
    file_close(&file);
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
        int64_t put = filesystem_write(file, bytes, length);
        if (put < 0) return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* ---- temporary files ---- */

/* A temporary name is the prefix, random hexadecimal digits and the suffix. */
static const char prefix[] = ".tril-", suffix[] = ".tmp";
enum { DIGITS = 16, TEMPORARY = sizeof prefix + DIGITS + sizeof suffix };

/* The temporary file being written, and its descriptor. Globals, because file_abandon runs in a
 * signal handler; atomic, because several threads may write files: then it knows the last one. */
static char *_Atomic under_way;
static atomic_int under_way_file;

/* Creates a new file in the folder of `path`, and says its name. */
static int create_temporary(const char *path, char *name, size_t capacity) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0, file = -1;
    /* differs between processes and moments */
    uint64_t key = (uint64_t)getpid() << 32 ^ (uint64_t)(clock_seconds() * 1e9);
    for (uint64_t i = 0; i < 100; i++) {
        snprintf(name, capacity, "%.*s%s%016" PRIx64 "%s", folder, path, prefix,
                 random_bits(key, i), suffix);
        file = filesystem_create_temporary(name);
        if (file >= 0 || errno != EEXIST) break;
    }
    return file;
}

void file_abandon(void) {
    const char *name = under_way;
    if (name) filesystem_abandon(under_way_file, name);
}

bool file_is_temporary(const char *name) {
    size_t begin = sizeof prefix - 1, end = sizeof suffix - 1;
    return strlen(name) == begin + DIGITS + end && strncmp(name, prefix, begin) == 0 &&
           strspn(name + begin, "0123456789abcdef") == DIGITS &&
           strcmp(name + begin + DIGITS, suffix) == 0;
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
    under_way_file = file;
    under_way = temporary;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) ok = write_all(file, parts[i].bytes, parts[i].length);
    int why = errno;
    if (ok) {
        ok = filesystem_replace(file, temporary, path);
        why = errno;
    } else {
        filesystem_abandon(file, temporary);
        close(file);
    }
    under_way = NULL;
    memory_free(temporary);
    return ok || fail(err, "%s: cannot be written: %s", path, strerror(why));
}

bool file_text(char **text, size_t *length, const char *path,
               bool (*print)(FILE *out, void *what, Error *err), void *what, Error *err) {
    TextStream stream;
    *text = NULL;
    if (!textstream_open(&stream)) return fail(err, "%s: no memory to write it", path);
    bool ok = print(stream.out, what, err), whole = textstream_close(&stream);
    *text = stream.text;
    *length = stream.length;
    if (ok && whole) return true;
    free(*text);
    *text = NULL;
    return ok ? fail(err, "%s: no memory to write it", path) : false;
}

bool file_print(const char *path, bool (*print)(FILE *out, void *what, Error *err), void *what,
                Error *err) {
    char *text;
    size_t length;
    bool ok = file_text(&text, &length, path, print, what, err) &&
              file_write(path, &(FilePart){text, length}, 1, err);
    free(text);
    return ok;
}

bool file_flush_output(Error *err) {
    bool whole = fflush(stdout) == 0 && !ferror(stdout);
    return whole || fail(err, "standard output cannot be written");
}

bool file_exists(const char *path) {
    FileStatus status;
    return filesystem_look(path, true, &status);
}

bool file_is_taken(const char *path) {
    FileStatus status;
    return filesystem_look(path, false, &status);
}

bool file_is_directory(const char *path) {
    FileStatus status;
    return filesystem_look(path, true, &status) && status.kind == FILE_FOLDER;
}

bool file_can_be_read(const char *path, Error *err) {
    int file = filesystem_open(path, OPEN_AT_ONCE);
    bool ok = file >= 0 || file_is_directory(path);
    if (!ok) fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    if (file >= 0) close(file);
    return ok;
}

bool file_begins(const char *path, const char *text) {
    char begin[256];
    FileStatus status;
    size_t length = strlen(text);
    int file = filesystem_open(path, OPEN_AT_ONCE);
    if (file < 0) return false;
    bool same =
        length < sizeof begin && filesystem_status(file, &status) && status.kind == FILE_REGULAR &&
        filesystem_read(file, begin, length) == (int64_t)length && memcmp(begin, text, length) == 0;
    close(file);
    return same;
}

FILE *file_stream(const char *path, FileStream how, Error *err) {
    static const struct {
        OpenMode mode;
        const char *stdio;
    } ways[] = {[STREAM_READ] = {OPEN_AT_ONCE, "rb"},
                [STREAM_UPDATE] = {OPEN_UPDATE, "r+b"},
                [STREAM_CREATE] = {OPEN_CREATE, "wb"}};
    FileStatus status;
    FILE *stream = NULL;
    int file = filesystem_open(path, ways[how].mode);
    if (file >= 0 && filesystem_status(file, &status) && status.kind == FILE_REGULAR)
        stream = fdopen(file, ways[how].stdio);
    if (stream) return stream;
    fail(err, "%s: cannot be %s: %s", path, how == STREAM_CREATE ? "created" : "opened",
         file < 0 ? strerror(errno) : "no regular file");
    if (file >= 0) close(file);
    return NULL;
}

bool file_make_parent(const char *path, void (*made)(void *context, const char *directory),
                      void *context, Error *err) {
    char *copy;
    size_t size = strlen(path) + 1;
    if (!memory_alloc(&copy, size, 1, path, err)) return false;
    memcpy(copy, path, size);
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool made_now = filesystem_make_folder(copy, FOR_USER);
        int why = errno;
        if (!made_now && !file_is_directory(copy))
            ok = fail(err, "%s: cannot be created: %s", copy, strerror(why));
        if (made_now && made) made(context, copy);
        *slash = '/';
    }
    memory_free(copy);
    return ok;
}

static void count_entry(void *context, const char *name) {
    int *entries = context;
    (void)name;
    ++*entries;
}

static bool check_empty(const char *path, Error *err) {
    int entries = 0;
    if (!filesystem_each(path, count_entry, &entries))
        return fail(err, "%s: cannot be read: %s", path, strerror(errno));
    return entries == 0 || fail(err, "%s: is there already, and not empty", path);
}

bool file_make_directory(const char *path, Error *err) {
    if (!*path) return fail(err, "an empty name cannot be that of a directory");
    if (!file_make_parent(path, NULL, NULL, err)) return false;
    if (filesystem_make_folder(path, FOR_USER)) return true;
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
        filesystem_remove(within);
        memory_free(within);
    }
    filesystem_remove_folder(path);
}
