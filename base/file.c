#include "base/file.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/terminal.h"
#include "base/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reads up to `capacity` bytes. *got is smaller only at the end of the file. */
static bool read_some(int file, const char *path, char *to, size_t capacity, size_t *got,
                      Error *err) {
    const ptrdiff_t most = 1 << 30; /* for one call on Windows */
    char *at = to, *const end = to + capacity;
    while (at < end) {
        int64_t more = read(file, at, (unsigned)(end - at < most ? end - at : most));
        if (more == 0) break;
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return fail(err, "%s: cannot be read: %s", path, strerror(errno));
        at += more;
    }
    *got = (size_t)(at - to);
    return true;
}

/* Reads to the end of the file into *bytes, owned by the caller, and adds a zero byte. */
static bool read_rest(int file, const char *path, char **bytes, size_t *length, Error *err) {
    enum { PIECE = 65536 };
    Buffer all = buffer_begin(path, err);
    size_t got;
    bool ok;
    do {
        ok = buffer_reserve(&all, PIECE) &&
             read_some(file, path, all.bytes + all.length, PIECE, &got, err);
        all.length += ok ? got : 0;
    } while (ok && got == PIECE);
    if (ok)
        all.bytes[all.length] = 0;
    else
        buffer_end(&all);
    *bytes = all.bytes;
    *length = all.length;
    return ok;
}

/* Devices are an error: some have no end. */
bool file_open(File *file, const char *path, Error *err) {
    const FileKind kind = file_kind(path);
    FileStatus status = {.kind = FILE_NONE};
    *file = (File){.path = path, .descriptor = -1};
    if (kind == FILE_FOLDER || kind == FILE_DEVICE)
        return fail(err, "%s: is a %s, not a file", path,
                    kind == FILE_FOLDER ? "folder" : "device");
    file->descriptor = filesystem_open(path, OPEN_READ);
    if (file->descriptor >= 0) status = filesystem_status(file->descriptor);
    bool ok = status.kind != FILE_NONE;
    if (!ok) fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    if (ok) file->length = (size_t)status.size;
    /* a pipe, or a file of the system without a size */
    if (ok && (status.kind != FILE_REGULAR || status.size == 0))
        ok = read_rest(file->descriptor, path, &file->bytes, &file->length, err);
    if (!ok) file_close(file);
    return ok;
}

bool file_read(const char *path, char **bytes, size_t *length, Error *err) {
    File file;
    *bytes = NULL;
    *length = 0;
    if (!file_open(&file, path, err)) return false;
    bool ok = memory_alloc(bytes, file.length + 1, 1, path, err) &&
              file_take(&file, *bytes, file.length, err);
    if (ok) {
        *length = file.length;
    } else {
        memory_free(*bytes);
        *bytes = NULL;
    }
    file_close(&file);
    return ok;
}

bool file_read_input(char **bytes, size_t *length, Error *err) {
    return read_rest(STDIN_FILENO, "standard input", bytes, length, err);
}

bool file_take(File *file, void *to, size_t count, Error *err) {
    size_t got = 0, left = file->length - file->at;
    if (file->bytes) {
        got = min_size(count, left);
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

/* ---- temporary files ---- */

/* A temporary name is the prefix, hexadecimal digits and the suffix. The first half of the digits
 * is this process's mark. */
static const char prefix[] = ".tril-", suffix[] = ".tmp";
enum { DIGITS = 16, TEMPORARY = sizeof prefix + DIGITS + sizeof suffix };

/* The temporary file being written, and its descriptor. Globals, because file_abandon runs in a
 * signal handler; atomic, because several threads may write files (file_abandon then knows only the
 * last one), and because on Windows the handler has its own thread, beside the others. */
static char *_Atomic under_way;
static atomic_int under_way_file;
static _Atomic bool ending; /* file_abandon has been called */

bool file_is_temporary(const char *name) {
    size_t begin = sizeof prefix - 1, end = sizeof suffix - 1;
    return strlen(name) == begin + DIGITS + end && strncmp(name, prefix, begin) == 0 &&
           strspn(name + begin, "0123456789abcdef") == DIGITS &&
           strcmp(name + begin + DIGITS, suffix) == 0;
}

/* Returns 32 random bits, the same in every call, that differ between processes. */
static uint32_t own_mark(void) {
    static _Atomic uint32_t mark;
    uint32_t unset = 0;
    uint64_t key = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
    atomic_compare_exchange_strong(&mark, &unset, (uint32_t)random_bits(key, 0) | 1);
    return mark;
}

/* Removes a file that a killed program left beside the path. Files with this process's mark are
 * kept: another thread may be writing them, and a process's locks do not stop itself. */
static void remove_abandoned(void *path, const char *name) {
    char mark[DIGITS];
    char *abandoned;
    Error none;
    snprintf(mark, sizeof mark, "%08" PRIx32, own_mark());
    if (!file_is_temporary(name) || strncmp(name + sizeof prefix - 1, mark, strlen(mark)) == 0)
        return;
    if (!memory_alloc(&abandoned, strlen(path) + TEMPORARY, 1, name, &none)) return;
    sprintf(abandoned, "%.*s%s", (int)(file_name(path) - (char *)path), (char *)path, name);
    filesystem_remove_unused(abandoned);
    memory_free(abandoned);
}

/* Creates a file with a temporary name in the folder of `path`, where it removes abandoned ones.
 * Returns its descriptor, or -1. */
static int create_temporary(const char *path, char *name, size_t capacity) {
    int folder = (int)(file_name(path) - path), file = -1;
    snprintf(name, capacity, "%.*s", folder, path);
    filesystem_each(folder ? name : ".", remove_abandoned, (void *)path);
    uint64_t moment = (uint64_t)(clock_seconds() * 1e9);
    for (uint64_t i = 0; i < 10 && file < 0; i++) {
        snprintf(name + folder, capacity - (size_t)folder, "%s%08" PRIx32 "%08" PRIx32 "%s", prefix,
                 own_mark(), (uint32_t)random_bits(moment, i), suffix);
        file = filesystem_create_temporary(name);
    }
    return file;
}

void file_abandon(void) {
    ending = true;
    char *name = under_way;
    while (!atomic_compare_exchange_strong(&under_way, &name, NULL)) continue;
    if (name) filesystem_abandon(under_way_file, name);
}

/* From now on file_abandon leaves the temporary file alone. Returns false if it has removed it. */
static bool claim(char *temporary) {
    bool own = atomic_compare_exchange_strong(&under_way, &temporary, NULL);
    errno = EINTR;
    return own || !ending;
}

bool file_can_be_replaced(const char *path, const char *what, Error *err) {
    static const char *const kinds[] = {[FILE_FOLDER] = "a folder",
                                        [FILE_LINK] = "a symbolic link",
                                        [FILE_PIPE] = "a pipe",
                                        [FILE_DEVICE] = "a device",
                                        [FILE_OTHER] = "not a regular file"};
    const FileKind kind = filesystem_look(path, false).kind;
    return kind == FILE_NONE || kind == FILE_REGULAR ||
           fail(err, "%s: is %s, so %s cannot be written there", path, kinds[kind], what);
}

bool file_print(const char *path, bool (*print)(FILE *out, void *what, Error *err), void *what,
                Error *err) {
    size_t capacity = strlen(path) + TEMPORARY;
    char *temporary;
    if (world_rank() > 0) return true;
    if (!file_can_be_replaced(path, "a file", err) ||
        !memory_alloc(&temporary, capacity, 1, path, err))
        return false;
    signals_hold(); /* until file_abandon knows the file */
    int file = create_temporary(path, temporary, capacity);
    FILE *out = file >= 0 ? fdopen(file, "wb") : NULL;
    under_way_file = file;
    under_way = out ? temporary : NULL;
    signals_release();
    if (!out) {
        fail(err, "%s: cannot be created: %s", path, strerror(errno));
        if (file >= 0) {
            filesystem_abandon(file, temporary);
            close(file);
        }
        memory_free(temporary);
        return false;
    }
    errno = 0;
    const bool printed = print(out, what, err);
    const bool ok = printed && fflush(out) == 0 && !ferror(out) && filesystem_flush(file) &&
                    claim(temporary) && filesystem_replace(file, temporary, path);
    const int why = errno ? errno : EIO;
    if (!ok) filesystem_abandon(file, temporary);
    claim(temporary);
    fclose(out);
    memory_free(temporary);
    return ok || !printed ? ok : fail(err, "%s: cannot be written: %s", path, strerror(why));
}

typedef struct {
    const FilePart *parts;
    size_t count;
} Parts;

static bool print_parts(FILE *out, void *what, Error *err) {
    const size_t most = (size_t)1 << 30; /* for one call on Windows */
    const Parts *p = what;
    (void)err;
    for (size_t i = 0; i < p->count; i++)
        for (size_t at = 0, part; at < p->parts[i].length; at += part) {
            size_t left = p->parts[i].length - at;
            part = min_size(left, most);
            if (fwrite((const char *)p->parts[i].bytes + at, 1, part, out) < part) return true;
        }
    return true;
}

bool file_write(const char *path, const FilePart *parts, size_t count, Error *err) {
    return file_print(path, print_parts, &(Parts){parts, count}, err);
}

bool file_flush_output(Error *err) {
    bool whole = fflush(stdout) == 0 && !ferror(stdout);
    return whole || fail(err, "standard output cannot be written");
}

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void file_date(const char *path, char date[FILE_DATE]) {
    const FileStatus status = filesystem_look(path, true);
    const time_t moment = (time_t)status.written;
    const struct tm *parts = status.kind == FILE_NONE ? NULL : gmtime(&moment);
    if (!parts || strftime(date, FILE_DATE, "%Y-%m-%d %H:%M UTC", parts) == 0) *date = 0;
}

FILE *file_stream(const char *path, bool update, Error *err) {
    FILE *stream = NULL;
    int file = filesystem_open(path, update ? OPEN_UPDATE : OPEN_AT_ONCE);
    if (file >= 0 && filesystem_status(file).kind == FILE_REGULAR)
        stream = fdopen(file, update ? "r+b" : "rb");
    if (stream) return stream;
    fail(err, "%s: cannot be opened: %s", path, file < 0 ? strerror(errno) : "not a regular file");
    if (file >= 0) close(file);
    return NULL;
}

bool file_make_parent(const char *path, Error *err) {
    char *copy;
    if (!memory_copy(&copy, path, err)) return false;
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        const int why = filesystem_make_folder(copy) ? 0 : errno;
        if (why != 0 && file_kind(copy) != FILE_FOLDER)
            ok = fail(err, "%s: cannot be created: %s", copy,
                      strerror(why == EEXIST ? ENOTDIR : why));
        *slash = '/';
    }
    memory_free(copy);
    return ok;
}
