#include "extras/formats/folder.h"
#include "base/filesystem.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

/* ---- the folder ---- */

static void count_entry(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
}

bool folder_make(const char *path, size_t *made, Error *err) {
    int entries = 0;
    char *within;
    *made = 0;
    if (!*path) return fail(err, "the folder's name is empty");
    if (file_is_taken(path) && !file_is_directory(path))
        return fail(err, "%s: already exists and is not a folder; choose another name", path);
    if (!file_within(path, "", &within, err)) return false;
    bool ok = file_make_parent(within, made, err);
    if (ok && !filesystem_each(path, count_entry, &entries))
        ok = fail(err, "%s: cannot be read: %s", path, strerror(errno));
    if (entries > 0)
        ok = fail(err, "%s: already exists and is not empty; choose another name", path);
    if (!ok) file_remove_parent(within, *made);
    memory_free(within);
    return ok;
}

void folder_remove(const char *path, size_t made, const char *const *names, int count) {
    Error none;
    char *within;
    for (int i = 0; i < count; i++) {
        if (!file_within(path, names[i], &within, &none)) continue;
        filesystem_remove(within);
        file_remove_parent(within, made); /* after the last file */
        memory_free(within);
    }
}

/* ---- text ---- */

bool folder_open(JsonFile *file, const char *directory, const char *name, const char *claim,
                 Error *err) {
    size_t length;
    *file = (JsonFile){.path = NULL};
    return file_within(directory, name, &file->path, err) &&
           file_read(file->path, &file->text, &length, err) &&
           json_read(&file->root, file->path, claim, file->text, length, err);
}

void folder_close(JsonFile *file) {
    memory_free(file->root);
    memory_free(file->text);
    memory_free(file->path);
}

bool folder_write(Buffer *text, const char *directory, const char *name, Error *err) {
    char *path = NULL;
    bool ok = !text->failed && file_within(directory, name, &path, err) &&
              file_write(path, &(FilePart){text->bytes, text->length}, 1, err);
    memory_free(path);
    buffer_end(text);
    return ok;
}

/* ---- tensors ---- */

/* Adds a file of the folder unless it is already listed. */
static bool add_shard(Shards *shards, const char *directory, const char *name, Error *err) {
    char *path;
    if (!file_within(directory, name, &path, err)) return false;
    int same = 0;
    while (same < shards->count && strcmp(shards->list[same].path, path) != 0) same++;
    if (same < shards->count || shards->count == MAX_SHARDS) memory_free(path);
    if (same < shards->count) return true;
    if (shards->count == MAX_SHARDS)
        return fail(err, "%s: its index names more than %d files", directory, (int)MAX_SHARDS);
    shards->list[shards->count++] = (Shard){.path = path, .file.descriptor = -1};
    return true;
}

/* Lists the files of {"weight_map": {"tensor": "file", ...}, ...}. */
static bool list_parts(Shards *shards, const char *directory, const char *index, Error *err) {
    JsonFile file;
    const char *name;
    bool ok = folder_open(&file, directory, index, "not a valid index", err);
    const JsonValue *map = json_member(file.root, "weight_map");
    if (ok && !json_first(map)) ok = fail(err, "%s: has no weight_map", file.path);
    for (const JsonValue *entry = json_first(map); ok && entry; entry = json_next(map, entry))
        ok = json_name(entry, &name) && *name && !strpbrk(name, "/\\")
                 ? add_shard(shards, directory, name, err)
                 : fail(err, "%s: not a valid index: it names a file outside of the folder",
                        file.path);
    folder_close(&file);
    return ok;
}

bool shards_open(Shards *shards, const char *directory, Error *err) {
    static const char whole[] = "model.safetensors", parts[] = "model.safetensors.index.json";
    char *path = NULL, *index = NULL;
    *shards = (Shards){0};
    bool ok =
        memory_alloc(&shards->list, MAX_SHARDS, sizeof *shards->list, directory, err) &&
        file_within(directory, whole, &path, err) && file_within(directory, parts, &index, err) &&
        (file_exists(path) || !file_exists(index) ? add_shard(shards, directory, whole, err)
                                                  : list_parts(shards, directory, parts, err));
    memory_free(path);
    memory_free(index);
    for (int i = 0; ok && i < shards->count; i++) {
        Shard *shard = &shards->list[i];
        ok = file_open(&shard->file, shard->path, err) &&
             safetensors_open(&shard->part, &shard->file, err);
        shards->tensor_count += shard->part.tensor_count;
    }
    return ok;
}

bool shards_fetch(Shards *shards, Error *err) {
    for (int i = 0; i < shards->count; i++)
        if (!safetensors_fetch(&shards->list[i].part, &shards->list[i].file, err)) return false;
    return true;
}

const SafeTensor *shards_tensor(const Shards *shards, const char *name, const char **path) {
    *path = shards->list[0].path;
    for (int i = 0; i < shards->count; i++) {
        const SafeTensor *tensor = safetensors_tensor(&shards->list[i].part, name);
        if (!tensor) continue;
        *path = shards->list[i].path;
        return tensor;
    }
    return NULL;
}

void shards_free(Shards *shards) {
    for (int i = 0; shards->list && i < shards->count; i++) {
        Shard *shard = &shards->list[i];
        file_close(&shard->file);
        safetensors_free(&shard->part);
        memory_free(shard->path);
    }
    memory_free(shards->list);
    *shards = (Shards){0};
}
