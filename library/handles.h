/* handles.h - what stands behind the pointers of tril.h, and how failures become its values. */
#ifndef TRIL_LIBRARY_HANDLES_H
#define TRIL_LIBRARY_HANDLES_H

#include "data/data.h"
#include "library/checkpoint.h"
#include "library/tril.h"
#include "model/run.h"

struct TrilTokenizer {
    Vocab vocab;
};

struct TrilText {
    Corpus corpus;
    double held_out;
};

struct TrilModel {
    TrilTokenizer tokenizer;
    Model model;
    /* the notes of its file */
    uint64_t seed, text; /* of the training; digest of its text, 0: none yet */
    uint64_t training;   /* of tril_model_mark; 0: none */
    int step;            /* updates done */
    double validation;   /* the loss of these weights on the held-out text; NaN: not known */
    bool taught;         /* the weights are not random any more */
    bool in_training;
    Checkpoint file; /* the notes of the file that it was read from; without weights */
};

/* A trained model with its vocabulary, read from a checkpoint or from another program's file
 * (formats.h). */
typedef struct {
    Checkpoint checkpoint; /* from another program's file: only its model */
    Vocab vocab;
} Trained;

/* Reads the model at `path` with all checks of checkpoint_load, or of its format, and checks that
 * model and vocabulary have the same size. The caller releases it with trained_free. On failure
 * there is nothing to release. */
bool trained_load(Trained *trained, const char *path, Error *err);
void trained_free(Trained *trained);

/* Reads the vocabulary from the notes of a checkpoint. `path` begins the messages. The caller
 * releases it with vocab_free. */
bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err);

/* Takes a model and a vocabulary over, also on failure. */
bool model_wrap(TrilModel **made, Model *model, Vocab *vocab, Error *err);

/* Makes a text with the ids of `vocab` for a model of this context. Refused: as tril_text_make, and
 * too short a text for the context. */
bool text_read(TrilText **text, const Vocab *vocab, const char *bytes, size_t length,
               double held_out, int context, Error *err);

/* The model's vocabulary. */
static inline const Vocab *vocab_of(const TrilModel *model) {
    return &model->tokenizer.vocab;
}

/* The model for a run that only reads it: a run borrows what it could change. */
static inline Model *to_read(const TrilModel *model) {
    return (Model *)&model->model;
}

/* The precision of weights by its name: f32, bf16 or int8. Refused: another name, NULL. */
bool precision_read(Precision *precision, const char *name, Error *err);

/* The name of the rung name[length], a constant; NULL: there is none. */
const char *rung_named(const char *name, size_t length);

/* A callback, and whether it said to stop. */
typedef struct {
    TrilStop stop; /* NULL: never */
    void *user;
    bool stopped;
} Asking;

/* Asks the callback of an Asking, until it says to stop. Returns whether it did. */
int ask(void *asking);

/* Fails if `pointer` is NULL. `what` names it in the message. Here, so that checkers see what it
 * says. */
static inline bool given(const void *pointer, const char *what, Error *err) {
    return pointer || fail(err, "%s is NULL", what);
}

/* Are x [count], which a model predicts, finite numbers? Fails if its weights are too large. */
bool are_finite(const float *x, size_t count, Error *err);

/* Is `x` in the range? `what` names it in the message. */
bool in_range(double x, double least, double most, const char *what, Error *err);

/* Sets *threads to how many `wanted` stands for. Refused: a number out of range. */
bool threads_wanted(int wanted, int *threads, Error *err);

/* Gives the message to the caller, and returns TRIL_NO_MEMORY if that was the reason, else
 * `status`. */
TrilStatus refusal(TrilStatus status, const Error *err, TrilError *error);

/* Returns TRIL_OK if `ok`, else as refusal. */
TrilStatus outcome(bool ok, TrilStatus status, const Error *err, TrilError *error);

#endif
