/* formats.h - the files of other programs. Each format is a row of `formats` in
 * extras/formats/formats.c; without that folder, the list in library/no_formats.c is empty. */
#ifndef TRIL_LIBRARY_FORMATS_H
#define TRIL_LIBRARY_FORMATS_H

#include "data/data.h"
#include "model/model.h"

typedef struct {
    /* For reading. Returns true if the file or folder at `path` has this format; `read` then makes
     * the model and its vocabulary, which the caller releases. On failure there is nothing to
     * release. A format that is only written has neither. */
    bool (*recognizes)(const char *path);
    bool (*read)(Model *model, Vocab *vocab, const char *path, Error *err);
    /* For writing. Returns true if `path` names such a file; `write` then creates it, and removes
     * it again on failure. `type`, one of `types`, is the type of its matrices. */
    bool (*names)(const char *path);
    bool (*write)(const Model *model, const Vocab *vocab, const char *type, const char *path,
                  Error *err);
    const char *const *types; /* ends with NULL */
} Format;

/* Ends with NULL. The first format that accepts a path is used. */
extern const Format *const formats[];

/* Returns the format that reads the file or folder at `path`, or NULL if none does. */
const Format *format_to_read(const char *path);

/* Returns the format that writes `path` with matrices of `type`. Fails, with NULL, without one. */
const Format *format_to_write(const char *path, const char *type, Error *err);

#endif
