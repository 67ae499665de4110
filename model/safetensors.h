/* safetensors.h - bytes <-> named tensors and notes. Private to model/.
 *
 * The format (Hugging Face, "safetensors", 2022): eight bytes, the little-endian length of a JSON
 * header; the header, which maps each tensor's name to its type, shape and place, and
 * "__metadata__" to strings; then the tensors, end to end. Little-endian machines only. */
#ifndef TRIL_SAFETENSORS_H
#define TRIL_SAFETENSORS_H

#include "model/model.h"
#include "base/file.h"

enum { SAFETENSORS_RANK = 8 }; /* the most dimensions that are accepted */

typedef struct {
    const char *name;
    const char *type; /* "F32", "BF16", ... */
    int rank;
    size_t shape[SAFETENSORS_RANK];
    size_t offset;    /* among the data */
    const void *data; /* not aligned; NULL before they are read */
    size_t bytes;
} SafeTensor;

typedef struct {
    SafeTensor *tensors; /* owned, as are the notes; in the order of the header */
    int tensor_count;
    Note *notes;
    int note_count;
    char *header, *data; /* of a file that was opened: what the rest points into; owned */
} SafeTensors;

/* Reads a whole file that stands in memory. The header is decoded where it stands, and names,
 * notes and data point into `bytes`, which must live as long. Strict: what is cut, padded,
 * overlapping, doubled or of the wrong size is refused; `name` opens the message. */
bool safetensors_read(SafeTensors *file, const char *name, char *bytes, size_t length, Error *err);

/* The same in two steps, so that a bad file is refused before all of it is read: the first reads no
 * more than the header, which is checked against the file's length, the second the data, right
 * after. On failure of the first there is nothing to release. */
bool safetensors_open(SafeTensors *file, File *from, Error *err);
bool safetensors_fetch(SafeTensors *file, File *from, Error *err);
void safetensors_free(SafeTensors *file);

/* Are all numbers of this tensor, an F32, finite? */
bool safetensors_finite(const SafeTensor *tensor);

/* The tensor, or note, of that name; NULL if there is none. */
const SafeTensor *safetensors_tensor(const SafeTensors *file, const char *name);
const Note *safetensors_note(const SafeTensors *file, const char *key);

/* Writes them as the file `path`, atomically. */
bool safetensors_write(const SafeTensors *file, const char *path, Error *err);

#endif
