/* folder.h - the files of a folder of Hugging Face transformers: JSON, and tensors in
 * model.safetensors or in several files that model.safetensors.index.json names. */
#ifndef TRIL_EXTRAS_FORMATS_FOLDER_H
#define TRIL_EXTRAS_FORMATS_FOLDER_H

#include "base/file.h"
#include "base/json.h"
#include "library/safetensors.h"

/* Creates the folder `path` and those above it, and sets *made for folder_remove. Fails, and then
 * creates none, if it exists and is not empty. */
bool folder_make(const char *path, size_t *made, Error *err);

/* Removes the files `names` [count] of the folder, and the created folders if they are empty. */
void folder_remove(const char *path, size_t made, const char *const *names, int count);

typedef struct {
    char *path, *text; /* owned, as is the root, which points into the text */
    JsonValue *root;
} JsonFile;

/* Reads a JSON file of the folder, with `claim` for json_read. The caller releases *file with
 * folder_close, even after a failure. */
bool folder_open(JsonFile *file, const char *directory, const char *name, const char *claim,
                 Error *err);
void folder_close(JsonFile *file);

/* Writes the text as a file of the folder, and releases it. */
bool folder_write(Buffer *text, const char *directory, const char *name, Error *err);

enum { MAX_SHARDS = 256 };

typedef struct {
    char *path;       /* owned */
    File file;        /* open until shards_free */
    SafeTensors part; /* its tensors */
} Shard;

typedef struct {
    Shard *list; /* owned */
    int count;
    int tensor_count; /* in all */
} Shards;

/* Opens the files of tensors and reads their headers. Fails for a file that is missing or not
 * valid, and for an index that names a file of another folder or more than MAX_SHARDS. The caller
 * releases *shards with shards_free, even after a failure. */
bool shards_open(Shards *shards, const char *directory, Error *err);
void shards_free(Shards *shards);

/* Reads the data of all files. */
bool shards_fetch(Shards *shards, Error *err);

/* Returns the tensor with this name, or NULL. Sets *path to its file, or to the first file. */
const SafeTensor *shards_tensor(const Shards *shards, const char *name, const char **path);

#endif
