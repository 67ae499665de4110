/* checkpoint.h - a model, and optionally its training state, in one safetensors file. */
#ifndef TRIL_LIBRARY_CHECKPOINT_H
#define TRIL_LIBRARY_CHECKPOINT_H

#include "base/options.h"
#include "data/data.h"
#include "library/safetensors.h"
#include "model/run.h"

/* Writes the weights, the configuration, `metadata` [count], and a digest of all of it, atomically.
 * Also writes the moments of `run`, the training of the model, from which run_restore continues;
 * `run` may be NULL. The metadata must not use the checkpoint's own keys. TRIL_FILE: anything but a
 * checkpoint, or an empty file, is at `path`. TRIL_DIVERGED: a number that is not finite. */
bool checkpoint_save(const char *path, const Model *model, const Run *run, const Metadata *metadata,
                     int count, Error *err);

/* An entry of the metadata that is a number, and a member of a record. */
typedef struct {
    const char *key;
    size_t member; /* its offset */
    enum {
        DOUBLE = OPTION_REAL,
        SEED = OPTION_SEED,
        INT = OPTION_INT,
        DOUBLE_6 = OPTION_SECTION + 1, /* with six digits after the point */
        DIGEST                         /* uint64_t */
    } type;
    bool may_lack; /* in a file: a double is then NaN, and another member keeps its value; a number
                      below `least` is left out */
    double least;  /* the smallest int or double in a file */
} Number;

/* numbers_put adds the entries of a list of members. numbers_read sets them from a file, and
 * returns the key of the first entry that is missing or invalid, or NULL. numbers_have returns true
 * if one of them has this key. */
bool numbers_put(MetadataList *metadata, const Number *list, int count, const void *record,
                 Error *err);
const char *numbers_read(const SafeTensors *file, const Number *list, int count, void *record);
bool numbers_have(const Number *list, int count, const char *key);

/* Returns true if the checkpoint's own metadata has this key. */
bool checkpoint_has_key(const char *key);

/* Reads a checkpoint: the model; the first and second moments, laid out like the weights, or NULL;
 * of the file, metadata and tensors, without data. All are zero before; the caller releases them,
 * even after a failure. Checks every name, shape, type and size before reading the weights, and the
 * digest before using them. Numbers that are not finite are an error, too. */
bool checkpoint_load(Model *model, float *moments[2], SafeTensors *file, const char *path,
                     Error *err);

#endif
