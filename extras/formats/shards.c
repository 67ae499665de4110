#include "extras/formats/shards.h"
#include "base/json.h"
#include "base/memory.h"

#include <string.h>

/* ---- the index ---- */

/* Adds a file of the folder, unless it is listed already. */
static bool add_shard(Shards *shards, const char *directory, const char *name, Error *err) {
    char *path;
    if (!file_within(directory, name, &path, err)) return false;
    for (int i = 0; i < shards->count; i++)
        if (strcmp(shards->list[i].path, path) == 0) {
            memory_free(path);
            return true;
        }
    shards->list[shards->count++].path = path;
    return true;
}

/* Reads {"weight_map": {"tensor": "file", ...}, ...}. */
static bool read_index(Shards *shards, const char *directory, const char *path, Error *err) {
    char *text;
    size_t length;
    JsonValue *root;
    const char *name;
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = json_read(&root, path, "not a valid index", text, length, err);
    const JsonValue *map = ok ? json_member(root, "weight_map") : NULL;
    if (ok && !json_first(map)) ok = fail(err, "%s: has no weight_map", path);
    json_each(entry, map) {
        if (!ok) break;
        if (!json_name(entry, &name) || !*name || strchr(name, '/'))
            ok = fail(err, "%s: not a valid index: a file outside of the folder", path);
        else if (shards->count == MAX_SHARDS)
            ok = fail(err, "%s: names more than %d files", path, (int)MAX_SHARDS);
        ok = ok && add_shard(shards, directory, name, err);
    }
    memory_free(root);
    memory_free(text);
    return ok;
}

/* Lists the files: those of the index only if there is no whole file. */
static bool list_files(Shards *shards, const char *directory, Error *err) {
    static const char whole[] = "model.safetensors", parts[] = "model.safetensors.index.json";
    char *index = NULL;
    bool ok =
        add_shard(shards, directory, whole, err) && file_within(directory, parts, &index, err);
    if (ok && !file_exists(shards->list[0].path) && file_exists(index)) {
        memory_free(shards->list[0].path);
        shards->list[0].path = NULL;
        shards->count = 0;
        ok = read_index(shards, directory, index, err);
    }
    memory_free(index);
    return ok;
}

/* ---- the files ---- */

bool shards_open(Shards *shards, const char *directory, Error *err) {
    *shards = (Shards){0};
    bool ok = memory_alloc(&shards->list, MAX_SHARDS, sizeof *shards->list, directory, err);
    if (ok)
        for (int i = 0; i < MAX_SHARDS; i++) shards->list[i].file.descriptor = -1;
    ok = ok && list_files(shards, directory, err);
    for (int i = 0; ok && i < shards->count; i++) {
        Shard *shard = &shards->list[i];
        ok = file_open(&shard->file, shard->path, err) &&
             safetensors_open(&shard->part, &shard->file, err);
        shards->tensor_count += shard->part.tensor_count;
    }
    if (!ok) shards_free(shards);
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
