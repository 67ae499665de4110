/* safetensors.h - reads and writes files of named tensors and metadata.
 *
 * The format (Hugging Face, "safetensors", 2022): first eight bytes, the little-endian length of a
 * JSON header; then the header, which maps each tensor name to type, shape and byte range, and
 * "__metadata__" to strings; then the tensors, end to end, in the order of the header. */
#ifndef TRIL_LIBRARY_SAFETENSORS_H
#define TRIL_LIBRARY_SAFETENSORS_H

#include "base/file.h"

/* One entry of the metadata. The key is a plain word. The value is UTF-8 of `length` bytes, which a
 * zero byte follows, and may contain any character. */
typedef struct {
    const char *key, *value;
    size_t length;
} Metadata;

/* A growing list of metadata: copies of keys and values, which metadata_free releases. */
enum { MAX_METADATA = 128 };
typedef struct {
    Metadata list[MAX_METADATA];
    int count;
} MetadataList;

/* Adds value[length] under `key`. Fails if there is one already. */
bool metadata_put(MetadataList *metadata, const char *key, const char *value, size_t length,
                  Error *err);

/* The same for a text without zero bytes. */
bool metadata_text(MetadataList *metadata, const char *key, const char *text, Error *err);
void metadata_free(MetadataList *metadata);

enum { SAFETENSORS_RANK = 8 }; /* maximum number of dimensions */

typedef struct {
    const char *name;
    const char *type; /* "F32", "BF16", ... */
    int rank;
    size_t shape[SAFETENSORS_RANK];
    size_t offset;    /* of a file that was read: in bytes, from the start of the data */
    const void *data; /* not aligned; the caller may set where safetensors_fetch reads them to */
    size_t bytes;
} SafeTensor;

typedef struct {
    SafeTensor *tensors; /* owned, as are the metadata */
    int tensor_count;
    Metadata *metadata;
    int metadata_count;
    char *header, *data; /* the rest points into them; owned */
} SafeTensors;

/* safetensors_open reads only the header, and checks it against the file's length: it fails for a
 * file that is cut or padded, and for overlapping, duplicate or wrongly sized tensors; then there
 * is nothing to release. safetensors_fetch then reads the data: each tensor's to the `data` that
 * the caller has set, or else to memory of *file. */
bool safetensors_open(SafeTensors *file, File *from, Error *err);
bool safetensors_fetch(SafeTensors *file, File *from, Error *err);
void safetensors_free(SafeTensors *file);

/* Returns the bytes of a number of this type, if the type is known. */
size_t safetensors_width(const char *type);

/* Return the tensor of this name, the entry of this key, or that entry's value; or else NULL. */
SafeTensor *safetensors_tensor(const SafeTensors *file, const char *name);
const Metadata *safetensors_metadata(const SafeTensors *file, const char *key);
const char *safetensors_value(const SafeTensors *file, const char *key);

/* Writes the tensors and the metadata to the file `path`, atomically. */
bool safetensors_write(const SafeTensors *file, const char *path, Error *err);

#endif
