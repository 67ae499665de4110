/* memfile.c - base/file.h without a file system: one file in memory, whatever its path, through
 * which the page in a browser tab and the C code exchange data. */
#include "base/file.h"
#include "base/memory.h"
#include "extras/web/web.h"

#include <string.h>

static struct {
    char *bytes; /* owned; NULL if there is no file */
    size_t length;
} kept;

char *memfile_make(size_t length, Error *err) {
    memfile_remove();
    kept.length = length;
    return memory_alloc(&kept.bytes, length + 1, 1, "the file", err) ? kept.bytes : NULL;
}

const char *memfile_bytes(size_t *length) {
    *length = kept.length;
    return kept.bytes;
}

void memfile_remove(void) {
    memory_free(kept.bytes);
    kept.bytes = NULL;
    kept.length = 0;
}

FileStatus filesystem_look(const char *path, bool follow) {
    (void)path, (void)follow;
    return (FileStatus){.kind = kept.bytes ? FILE_REGULAR : FILE_NONE};
}

bool file_open(File *file, const char *path, Error *err) {
    *file = (File){.path = path, .length = kept.length};
    return kept.bytes || fail(err, "%s: cannot be opened: there is no such file", path);
}

bool file_take(File *file, void *to, size_t count, Error *err) {
    size_t left = file->length - file->at;
    if (count > left) return fail(err, "%s: cannot be read: it ends too early", file->path);
    memcpy(to, kept.bytes + file->at, count);
    file->at += count;
    return true;
}

void file_close(File *file) {
    *file = (File){0};
}

bool file_write(const char *path, const FilePart *parts, size_t count, Error *err) {
    size_t length = 0;
    (void)path;
    for (size_t i = 0; i < count; i++) length += parts[i].length;
    char *to = memfile_make(length, err);
    for (size_t i = 0; i < count && to; to += parts[i++].length)
        memcpy(to, parts[i].bytes, parts[i].length);
    return to != NULL;
}

/* There are no folders and links. */
bool file_can_be_replaced(const char *path, const char *what, Error *err) {
    (void)path, (void)what, (void)err;
    return true;
}
