/* memfile.c - base/file.h without a file system: a few files in memory, through which the page in a
 * browser tab and the C code exchange data. */
#include "base/file.h"
#include "base/filesystem.h"
#include "base/array.h"
#include "base/memory.h"
#include "extras/web/memfile.h"

#include <string.h>

enum { NAME = 32, FILES = 4 };

static struct {
    char name[NAME];
    char *bytes; /* owned; NULL if unused */
    size_t length;
} files[FILES];

static int find(const char *name) {
    for (int i = 0; i < FILES; i++)
        if (files[i].bytes && strcmp(files[i].name, name) == 0) return i;
    return -1;
}

bool memfile_make(const char *name, size_t length, char **bytes, Error *err) {
    int i = 0;
    memfile_remove(name);
    while (i < FILES && files[i].bytes) i++;
    *bytes = NULL;
    if (i == FILES || strlen(name) >= NAME) return fail(err, "%s: cannot be created", name);
    if (!memory_alloc(&files[i].bytes, length + 1, 1, name, err)) return false;
    strcpy(files[i].name, name);
    files[i].length = length;
    *bytes = files[i].bytes;
    return true;
}

const char *memfile_bytes(const char *name, size_t *length) {
    int i = find(name);
    *length = i < 0 ? 0 : files[i].length;
    return i < 0 ? NULL : files[i].bytes;
}

void memfile_remove(const char *name) {
    int i = find(name);
    if (i < 0) return;
    memory_free(files[i].bytes);
    files[i].bytes = NULL;
}

bool file_read(const char *path, char **bytes, size_t *length, Error *err) {
    const char *from = memfile_bytes(path, length);
    *bytes = NULL;
    if (!from) return fail(err, "%s: cannot be opened: there is no such file", path);
    if (!memory_alloc(bytes, *length + 1, 1, path, err)) return false;
    memcpy(*bytes, from, *length);
    return true;
}

bool file_open(File *file, const char *path, Error *err) {
    *file = (File){.path = path, .descriptor = find(path)};
    if (file->descriptor < 0) return fail(err, "%s: cannot be opened: there is no such file", path);
    file->length = files[file->descriptor].length;
    return true;
}

bool file_take(File *file, void *to, size_t count, Error *err) {
    size_t left = file->length - file->at;
    if (count > left) return fail(err, "%s: cannot be read: it ends too early", file->path);
    memcpy(to, files[file->descriptor].bytes + file->at, count);
    file->at += count;
    return true;
}

void file_close(File *file) {
    *file = (File){.descriptor = -1};
}

void filesystem_slash(char *path) {
    (void)path;
}

bool file_is_taken(const char *path) {
    return find(path) >= 0;
}

/* ---- there are no folders ---- */

bool file_is_directory(const char *path) {
    (void)path;
    return false;
}

bool file_can_be_replaced(const char *path, const char *what, Error *err) {
    (void)path, (void)what, (void)err;
    return true;
}

/* ---- writing ---- */

bool file_write(const char *path, const FilePart *parts, size_t count, Error *err) {
    size_t length = 0;
    char *to;
    for (size_t i = 0; i < count; i++) length += parts[i].length;
    if (!memfile_make(path, length, &to, err)) return false;
    for (size_t i = 0; i < count; to += parts[i++].length)
        memcpy(to, parts[i].bytes, parts[i].length);
    return true;
}
