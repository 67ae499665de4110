/* state.h - reads and edits the checkpoints and states that the programs wrote. */
#ifndef TRIL_STATE_H
#define TRIL_STATE_H

#include "base/memory.h"
#include "tests/scratch.h"
#include "library/checkpoint.h"

typedef struct {
    Model model;
    float *moments[2]; /* first and second; NULL in a model's */
    SafeTensors file;
} Checkpoint;

static inline void checkpoint_free(Checkpoint *checkpoint) {
    model_free(&checkpoint->model);
    memory_free(checkpoint->moments[0]);
    memory_free(checkpoint->moments[1]);
    safetensors_free(&checkpoint->file);
}

/* Reads a checkpoint. checkpoint_free releases it, even after a failure. */
static inline bool checkpoint_read(Checkpoint *checkpoint, const char *path) {
    *checkpoint = (Checkpoint){.moments = {NULL}};
    return checkpoint_load(&checkpoint->model, checkpoint->moments, &checkpoint->file, path, &err);
}

RELEASE(checkpoint, checkpoint_free)
RELEASE(tensors, safetensors_free)

/* Reads a file of tensors, which must be valid, until the end of the test. */
static inline SafeTensors *tensors_of(const char *path) {
    File from;
    SafeTensors *file = scrap(1, sizeof *file);
    assert_ok(file_open(&from, path, &err), err);
    assert_ok(safetensors_open(file, &from, &err) && safetensors_fetch(file, &from, &err), err);
    file_close(&from);
    at_end(release_tensors, file);
    return file;
}

/* Loads a checkpoint, which must be valid, until the end of the test. */
static inline Checkpoint *loaded(const char *path) {
    Checkpoint *checkpoint = scrap(1, sizeof *checkpoint);
    at_end(release_checkpoint, checkpoint);
    assert_ok(checkpoint_read(checkpoint, path), err);
    return checkpoint;
}

/* The number in an entry of the metadata of a checkpoint, which must be whole. */
static inline double state_number(const char *name, const char *key) {
    const Metadata *note = safetensors_metadata(&loaded(scratch(name))->file, key);
    if (!note) fail_msg("%s: no '%s'", name, key);
    return strtod(note->value, NULL);
}

/* Writes the state `from` to `to` with another value of an entry of its metadata, or without the
 * entry (NULL), or with one more, and with all weights multiplied. An empty key changes none. */
static inline void state_edit(const char *from, const char *to, const char *key, const char *value,
                              float factor) {
    enum { MOST = 100 };
    Checkpoint *state = loaded(scratch(from));
    Metadata notes[MOST];
    int count = 0;
    bool known = !*key;
    RunOptions options = {.batch = 1, .length = 1, .training = true, .threads = 1};
    Run *copy = open_run(&state->model, &options);
    run_restore(copy, 1, state->moments[0], state->moments[1]);
    for (size_t i = 0; i < state->model.weights_size; i++) state->model.weights[i] *= factor;
    assert_in_range(state->file.metadata_count, 1, MOST);
    for (int i = 0; i < state->file.metadata_count; i++) {
        Metadata note = state->file.metadata[i];
        if (checkpoint_has_key(note.key)) continue;
        bool edited = strcmp(note.key, key) == 0;
        known = known || edited;
        if (!edited)
            notes[count++] = note;
        else if (value)
            notes[count++] = (Metadata){key, value, strlen(value)};
    }
    assert_true(known || value);
    if (!known) notes[count++] = (Metadata){key, value, strlen(value)};
    assert_ok(checkpoint_save(scratch(to), &state->model, copy, notes, count, &err), err);
}

#endif
