#include "programs/texts.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/message.h"
#include "programs/run_files.h"

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

/* Adds a path, which is taken over. */
static bool add(Texts *texts, char *path, Error *err) {
    if (texts->count == texts->capacity) {
        int capacity = texts->capacity > 0 ? 2 * texts->capacity : 16;
        if (!memory_resize(&texts->files, (size_t)texts->count, (size_t)capacity,
                           sizeof *texts->files, "the names of texts", err)) {
            memory_free(path);
            return false;
        }
        texts->capacity = capacity;
    }
    texts->files[texts->count++] = (TextFile){path, id_of(path)};
    return true;
}

/* The names in a folder. */
typedef struct {
    Texts *texts;
    const char *folder;
    bool runs;
    Error *err;
    bool ok;
} Listing;

/* Returns true if a training run wrote the file: a model or state, a log, a table, the page, or the
 * line about a run that was moved. */
static bool is_of_run(const char *path) {
    static const char *const beginnings[] = {LOG_HEADING, TABLE_HEADING, RUN_PAGE_BEGINNING};
    static const char metadata[] = "{\"__metadata__\":{\"tril\":"; /* after eight bytes */
    char begin[512] = "";
    FILE *file = file_stream(path, STREAM_READ, &(Error){0});
    if (!file) return false;
    const size_t length = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(begin, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return (length > 8 && strncmp(begin + 8, metadata, sizeof metadata - 1) == 0) ||
           (strcmp(file_name(path), RUN_ABOUT) == 0 && strstr(begin, ", held-out loss "));
}

static void take_name(void *context, const char *name) {
    Listing *listing = context;
    FileStatus status;
    char *path;
    if (!listing->ok || *name == '.') return;
    listing->ok = file_within(listing->folder, name, &path, listing->err);
    if (!listing->ok) return;
    const bool there = filesystem_look(path, false, &status);
    const bool link = there && status.kind == FILE_LINK;
    const bool known = link ? filesystem_look(path, true, &status) : there;
    /* it was removed just now, or the link leads nowhere */
    listing->ok = known || errno == ENOENT || errno == ELOOP ||
                  fail(listing->err, "%s: cannot be read: %s", path, strerror(errno));
    const bool folder = known && !link && status.kind == FILE_FOLDER;
    const bool file = known && status.kind == FILE_REGULAR;
    if (folder || (file && (listing->runs || !is_of_run(path))))
        listing->ok = add(listing->texts, path, listing->err);
    else
        memory_free(path);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const TextFile *)a)->path, ((const TextFile *)b)->path);
}

static int by_file(const void *a, const void *b) {
    const FileId one = ((const TextFile *)a)->id, other = ((const TextFile *)b)->id;
    const int order = memcmp(&one, &other, sizeof one);
    return order ? order : by_path(a, b);
}

/* Replaces each folder by the files in it and in the folders below it. */
static bool open_folders(Texts *texts, bool runs, Error *err) {
    for (int i = 0; i < texts->count;) {
        char *path = texts->files[i].path;
        if (strcmp(path, "-") == 0 || !file_is_directory(path)) {
            i++;
            continue;
        }
        Listing listing = {texts, path, runs, err, true};
        texts->files[i] = texts->files[--texts->count]; /* looked at next */
        if (!filesystem_each(path, take_name, &listing))
            listing.ok = fail(err, "%s: the folder cannot be read", path);
        memory_free(path);
        if (!listing.ok) return false;
    }
    return true;
}

bool texts_find(Texts *texts, char *const *operands, int count, bool runs, Error *err) {
    *texts = (Texts){0};
    for (int i = 0; i < count; i++) {
        size_t length = strlen(operands[i]);
        char *copy;
        if (!memory_copy(&copy, operands[i], err)) return false;
        while (length > 1 && copy[length - 1] == '/') copy[--length] = 0;
        if (!add(texts, copy, err)) return false;
    }
    if (!open_folders(texts, runs, err)) return false;
    if (texts->count == 0) return true;
    qsort(texts->files, (size_t)texts->count, sizeof *texts->files, by_file);
    int kept = 1;
    for (int i = 1; i < texts->count; i++) {
        const TextFile file = texts->files[i];
        if (memcmp(&file.id, &texts->files[kept - 1].id, sizeof file.id) == 0)
            memory_free(file.path);
        else
            texts->files[kept++] = file;
    }
    texts->count = kept;
    qsort(texts->files, (size_t)kept, sizeof *texts->files, by_path);
    if (kept > 1)
        snprintf(texts->name, sizeof texts->name, "%d files", kept);
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
    if (tril_text_join((const char *const *)bytes, lengths, texts->count, o->bytes, o->lines,
                       o->held_out, *joined, length, &which, message(err)) == TRIL_OK)
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
