/* checkpoint.h - a model, and optionally its training state, in one safetensors file. */
#ifndef TRIL_LIBRARY_CHECKPOINT_H
#define TRIL_LIBRARY_CHECKPOINT_H

#include "library/safetensors.h"
#include "model/run.h"

/* Writes the weights, the configuration, `notes` [count] and a digest of all of it, atomically. The
 * notes must not use the checkpoint's own keys. */
bool checkpoint_save(const char *path, const Model *model, const Note *notes, int count,
                     Error *err);

/* The same for a training run: its model and the moments of its optimizer. run_restore continues
 * from them. */
bool checkpoint_save_run(const char *path, const Run *run, const Note *notes, int count,
                         Error *err);

/* Is this the key of one of the checkpoint's own notes? */
bool checkpoint_has_key(const char *key);

typedef struct {
    Model model;
    float *first_moments, *second_moments; /* shaped like the weights; NULL if the file has none */
    char *header;                          /* the notes point into it; all members are owned */
    Note *notes;
    int note_count;
} Checkpoint;

/* Reads a checkpoint. Checks every name, shape, type and size before reading the weights, and the
 * digest before using them. Also refused: numbers that are not finite. The caller releases it with
 * checkpoint_free. On failure there is nothing to release. */
bool checkpoint_load(Checkpoint *checkpoint, const char *path, Error *err);

/* Reads the notes only. The weights are NULL. The rest of the file may be damaged. The
 * caller releases it with checkpoint_free. */
bool checkpoint_peek(Checkpoint *checkpoint, const char *path, Error *err);
void checkpoint_free(Checkpoint *checkpoint);

/* The note of that key, or NULL. */
const Note *checkpoint_note(const Checkpoint *checkpoint, const char *key);

#endif
