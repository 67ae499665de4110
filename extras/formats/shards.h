/* shards.h - the tensors of a folder of Hugging Face transformers: in model.safetensors, or in
 * several files that model.safetensors.index.json names. */
#ifndef TRIL_EXTRAS_FORMATS_SHARDS_H
#define TRIL_EXTRAS_FORMATS_SHARDS_H

#include "base/file.h"
#include "library/safetensors.h"

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

/* Opens the files and reads their headers. Refused: a file that is missing or not valid, an index
 * that names a file of another folder or more than MAX_SHARDS. The caller releases *shards with
 * shards_free; on failure there is nothing to release. */
bool shards_open(Shards *shards, const char *directory, Error *err);

/* Reads the data of all files. */
bool shards_fetch(Shards *shards, Error *err);

/* The tensor with this name; NULL if there is none. *path is its file, or the first file. */
const SafeTensor *shards_tensor(const Shards *shards, const char *name, const char **path);

void shards_free(Shards *shards);

#endif
