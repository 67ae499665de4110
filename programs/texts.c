#include "programs/texts.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "programs/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the files ---- */

/* Identifies a file: a regular one by its number, if it has one; any other by its path. */
static FileId id_of(const char *path) {
    const FileStatus status = filesystem_look(path, true);
    if (strcmp(path, "-") != 0 && status.kind == FILE_REGULAR && status.id.number != 0)
        return status.id;
    return (FileId){UINT64_MAX, digest_bytes(path, strlen(path))};
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const TextFile *)a)->path, ((const TextFile *)b)->path);
}

/* Returns true if one of the first `count` files is this one, too. */
static bool is_among(const Texts *texts, int count, const TextFile *file) {
    int i = 0;
    while (i < count && memcmp(&texts->files[i].id, &file->id, sizeof file->id) != 0) i++;
    return i < count;
}

/* Sorts the files by path, each once. */
static void sort(Texts *texts) {
    TextFile *files = texts->files;
    int kept = 0;
    qsort(files, (size_t)texts->all, sizeof *files, by_path);
    for (int i = 0; i < texts->all; i++)
        if (is_among(texts, kept, &files[i]))
            memory_free(files[i].path);
        else
            files[kept++] = files[i];
    texts->count = texts->all = kept;
}

/* Adds a file after the others. */
static bool add(Texts *texts, const char *operand, Error *err) {
    char *path;
    if (!memory_copy(&path, operand, err)) return false;
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';) path[--length] = 0;
    texts->files[texts->all++] = (TextFile){.path = path, .id = id_of(path)};
    return strcmp(path, "-") == 0 || file_kind(path) != FILE_FOLDER ||
           fail(err, "%s: is a folder; name its files, such as %s/*.txt", path, path);
}

bool texts_find(Texts *texts, char *const *operands, int count, const char *held_out, Error *err) {
    *texts = (Texts){0};
    if (!memory_alloc(&texts->files, (size_t)count + 1, sizeof *texts->files, "the names of texts",
                      err))
        return false;
    for (int i = 0; i < count; i++)
        if (!add(texts, operands[i], err)) return false;
    sort(texts);
    if (held_out && !add(texts, held_out, err)) return false;
    const TextFile *files = texts->files, *last = files + texts->count;
    if (held_out && is_among(texts, texts->count, last))
        return fail(err, "%s: is to be trained on and held out; give it only once",
                    program_source(last->path));
    char *name = texts->name;
    if (texts->count > 1)
        snprintf(name, TEXTS_NAME, "%d files", texts->count);
    else
        snprintf(name, TEXTS_NAME, "%s", program_source(files->path));
    const size_t length = strlen(name);
    if (held_out)
        snprintf(name + length, TEXTS_NAME - length, " and %s", program_source(last->path));
    return true;
}

void texts_free(Texts *texts) {
    texts_forget(texts);
    for (int i = 0; i < texts->all; i++) memory_free(texts->files[i].path);
    memory_free(texts->files);
    *texts = (Texts){0};
}

/* ---- their content ---- */

/* Reads the files, once. */
static bool read_files(Texts *texts, Error *err) {
    for (TextFile *file = texts->files; file < texts->files + texts->all; file++)
        if (!file->bytes && !program_read(file->path, &file->bytes, &file->length, err))
            return false;
    return true;
}

const char *texts_content(Texts *texts, bool bytes, double *held_out, size_t *length, Error *err) {
    const size_t count = (size_t)texts->all;
    size_t capacity = 2 * count, *lengths = NULL;
    const char **parts = NULL;
    int which = 0;
    if (!read_files(texts, err)) return NULL;
    *length = texts->files->length;
    if (count == 1) return texts->files->bytes;
    for (size_t i = 0; i < count; i++) capacity += texts->files[i].length;
    memory_free(texts->joined);
    bool ok = memory_alloc(&texts->joined, capacity, 1, "the text", err) &&
              memory_alloc(&parts, count, sizeof *parts, "the texts", err) &&
              memory_alloc(&lengths, count, sizeof *lengths, "the texts", err);
    for (size_t i = 0; ok && i < count; i++) {
        parts[i] = texts->files[i].bytes;
        lengths[i] = texts->files[i].length;
    }
    if (texts->all > texts->count) *held_out = NAN;
    if (ok && tril_text_join(parts, lengths, texts->all, bytes, held_out, texts->joined, length,
                             &which, err) != TRIL_OK)
        ok = message_of(err, program_source(texts->files[which].path));
    memory_free(parts);
    memory_free(lengths);
    return ok ? texts->joined : NULL;
}

void texts_forget(Texts *texts) {
    for (TextFile *file = texts->files; file < texts->files + texts->all; file++) {
        memory_free(file->bytes);
        file->bytes = NULL;
    }
    memory_free(texts->joined);
    texts->joined = NULL;
}
