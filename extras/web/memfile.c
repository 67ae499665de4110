/* memfile.c - base/file.h without a file system: one file in memory, through which the page in a
 * browser tab and the C code exchange data. */
#include "base/file.h"
#include "base/array.h"
#include "base/memory.h"
#include "extras/web/memfile.h"

#include <string.h>

enum { NAME = 32 };

static struct {
    char name[NAME];
    char *bytes; /* owned; NULL if there is no file */
    size_t length;
} kept;

bool memfile_make(const char *name, size_t length, char **bytes, Error *err) {
    memfile_remove();
    *bytes = NULL;
    if (strlen(name) >= NAME) return fail(err, "%s: cannot be created", name);
    if (!memory_alloc(&kept.bytes, length + 1, 1, name, err)) return false;
    strcpy(kept.name, name);
    kept.length = length;
    *bytes = kept.bytes;
    return true;
}

const char *memfile_bytes(const char *name, size_t *length) {
    const bool found = kept.bytes && strcmp(kept.name, name) == 0;
    *length = found ? kept.length : 0;
    return found ? kept.bytes : NULL;
}

void memfile_remove(void) {
    memory_free(kept.bytes);
    kept.bytes = NULL;
}

FileStatus filesystem_look(const char *path, bool follow) {
    size_t length;
    (void)follow;
    return (FileStatus){.kind = memfile_bytes(path, &length) ? FILE_REGULAR : FILE_NONE};
}

bool file_open(File *file, const char *path, Error *err) {
    *file = (File){.path = path};
    if (memfile_bytes(path, &file->length)) return true;
    return fail(err, "%s: cannot be opened: there is no such file", path);
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
    char *to;
    for (size_t i = 0; i < count; i++) length += parts[i].length;
    if (!memfile_make(path, length, &to, err)) return false;
    for (size_t i = 0; i < count; to += parts[i++].length)
        memcpy(to, parts[i].bytes, parts[i].length);
    return true;
}

/* There are no folders and links. */
bool file_can_be_replaced(const char *path, const char *what, Error *err) {
    (void)path, (void)what, (void)err;
    return true;
}
