/* checkpoint.h - a model, and optionally its training state, in one safetensors file. */
#ifndef TRIL_LIBRARY_CHECKPOINT_H
#define TRIL_LIBRARY_CHECKPOINT_H

#include "data/data.h"
#include "library/safetensors.h"
#include "model/run.h"

/* Writes the weights, the configuration, `notes` [count], and a digest of all of it, atomically.
 * Also writes the moments of `run`, the training of the model, from which run_restore continues;
 * `run` may be NULL. The notes must not use the checkpoint's own keys. Fails if anything but a
 * checkpoint, or an empty file, is at `path`. */
bool checkpoint_save(const char *path, const Model *model, const Run *run, const Note *notes,
                     int count, Error *err);

/* Returns true if one of the checkpoint's own notes has this key. */
bool checkpoint_has_key(const char *key);

typedef struct {
    Model model;
    float *first_moments, *second_moments; /* shaped like the weights, if the file has any */
    SafeTensors file;                      /* its notes and tensors; their data are released */
} Checkpoint;

/* Reads a checkpoint. Checks every name, shape, type and size before reading the weights, and the
 * digest before using them. Numbers that are not finite are an error, too. The caller releases it
 * with checkpoint_free. On failure there is nothing to release. */
bool checkpoint_load(Checkpoint *checkpoint, const char *path, Error *err);
void checkpoint_free(Checkpoint *checkpoint);

#endif
