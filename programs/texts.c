#include "programs/texts.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the files ---- */

/* Identifies a file: a regular one by its number, if it has one; any other by its path. */
static FileId id_of(const char *path) {
    FileStatus status;
    if (strcmp(path, "-") != 0 && filesystem_look(path, true, &status) &&
        status.kind == FILE_REGULAR && status.id.number != 0)
        return status.id;
    return (FileId){UINT64_MAX, digest_bytes(path, strlen(path))};
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const TextFile *)a)->path, ((const TextFile *)b)->path);
}

static int by_file(const void *a, const void *b) {
    const FileId one = ((const TextFile *)a)->id, other = ((const TextFile *)b)->id;
    const int order = memcmp(&one, &other, sizeof one);
    return order ? order : by_path(a, b);
}

/* Sorts the files by path, each once. */
static void sort(Texts *texts) {
    int kept = 0;
    qsort(texts->files, (size_t)texts->count, sizeof *texts->files, by_file);
    for (int i = 0; i < texts->count; i++) {
        const TextFile file = texts->files[i];
        if (kept > 0 && memcmp(&file.id, &texts->files[kept - 1].id, sizeof file.id) == 0)
            memory_free(file.path);
        else
            texts->files[kept++] = file;
    }
    texts->count = kept;
    qsort(texts->files, (size_t)kept, sizeof *texts->files, by_path);
}

bool texts_find(Texts *texts, char *const *operands, int count, Error *err) {
    *texts = (Texts){0};
    if (!memory_alloc(&texts->files, (size_t)count, sizeof *texts->files, "the names of texts",
                      err))
        return false;
    for (int i = 0; i < count; i++) {
        char *path;
        if (!memory_copy(&path, operands[i], err)) return false;
        for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';)
            path[--length] = 0;
        texts->files[texts->count++] = (TextFile){path, id_of(path)};
        if (strcmp(path, "-") != 0 && file_is_directory(path))
            return fail(err, "%s: is a folder; name its files, such as %s/*.txt", path, path);
    }
    sort(texts);
    if (texts->count > 1)
        snprintf(texts->name, sizeof texts->name, "%d files", texts->count);
    else
        snprintf(texts->name, sizeof texts->name, "%s",
                 strcmp(texts->files->path, "-") == 0 ? "standard input" : texts->files->path);
    return true;
}

void texts_free(Texts *texts) {
    for (int i = 0; i < texts->count; i++) memory_free(texts->files[i].path);
    memory_free(texts->files);
    *texts = (Texts){0};
}

/* ---- their content ---- */

static bool read_one(const char *path, char **bytes, size_t *length, Error *err) {
    return strcmp(path, "-") == 0 ? file_read_input(bytes, length, err)
                                  : file_read(path, bytes, length, err);
}

/* Joins the texts into *joined. */
static bool join(const Texts *texts, char *const *bytes, const size_t *lengths,
                 const TrilOptions *o, char **joined, size_t *length, Error *err) {
    size_t capacity = 2 * (size_t)texts->count;
    int which = 0;
    for (int i = 0; i < texts->count; i++) capacity += lengths[i];
    if (!memory_alloc(joined, capacity, 1, "the text", err)) return false;
    if (tril_text_join((const char *const *)bytes, lengths, texts->count, o->bytes, o->held_out,
                       *joined, length, &which, err) == TRIL_OK)
        return true;
    memory_free(*joined);
    *joined = NULL;
    return message_of(err, texts->files[which].path);
}

bool texts_read(const Texts *texts, const TrilOptions *options, char **bytes, size_t *length,
                Error *err) {
    char **parts = NULL;
    size_t *lengths = NULL;
    *bytes = NULL;
    if (texts->count == 1) return read_one(texts->files->path, bytes, length, err);
    bool ok = memory_alloc(&parts, (size_t)texts->count, sizeof *parts, "the texts", err) &&
              memory_alloc(&lengths, (size_t)texts->count, sizeof *lengths, "the texts", err);
    for (int i = 0; i < texts->count && ok; i++)
        ok = read_one(texts->files[i].path, &parts[i], &lengths[i], err);
    ok = ok && join(texts, parts, lengths, options, bytes, length, err);
    for (int i = 0; i < texts->count && parts; i++) memory_free(parts[i]);
    memory_free(parts);
    memory_free(lengths);
    return ok;
}
