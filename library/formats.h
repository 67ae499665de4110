/* formats.h - the files of other programs. Each format is a row of `formats`, which
 * extras/formats/formats.c defines; without that folder library/no_formats.c does, and has none. */
#ifndef TRIL_LIBRARY_FORMATS_H
#define TRIL_LIBRARY_FORMATS_H

#include "data/data.h"
#include "model/model.h"

typedef struct {
    /* Reading: does the format recognize what is at `path`? Then `read` makes the model and its
     * vocabulary, which the caller releases; on failure there is nothing to release. NULL: the
     * format is only written. */
    bool (*recognizes)(const char *path);
    bool (*read)(Model *model, Vocab *vocab, const char *path, Error *err);
    /* Writing: is `path` the name of such a file? Then `write` creates it, and leaves nothing of it
     * on failure; `type`, one of `types`, is how it stores matrices. */
    bool (*names)(const char *path);
    bool (*write)(const Model *model, const Vocab *vocab, const char *type, const char *path,
                  Error *err);
    const char *const *types; /* ends with NULL */
} Format;

/* Ends with NULL. The first one that takes a path counts. */
extern const Format *const formats[];

/* The format that reads what is at `path`. NULL: none, it should be a checkpoint. */
const Format *format_to_read(const char *path);

/* The format that writes `path` with matrices of `type`. NULL if there is none. */
const Format *format_to_write(const char *path, const char *type, Error *err);

#endif
