/* handles.h - the structs behind the pointers of tril.h; conversions of its options and to its
 * errors. */
#ifndef TRIL_LIBRARY_HANDLES_H
#define TRIL_LIBRARY_HANDLES_H

#include "library/batches.h"
#include "library/checkpoint.h"
#include "library/recipe.h"

#include <stdatomic.h>

/* The calls that use an object at this moment: -1 for one that changes it, else the number of those
 * that only read it. */
typedef atomic_int Uses;

/* Begins to use an object, whose kind is `what`. Fails with TRIL_BUSY while another call changes it
 * or, if this one `changes` it, reads it. After success the caller calls use_end. */
bool use_begin(Uses *uses, bool changes, const char *what, Error *err);
void use_end(Uses *uses);

struct TrilModel {
    Vocab vocab;
    Model model;
    /* the metadata of its file */
    uint64_t seed, text; /* the training's seed, and the digest of its text */
    int step;            /* updates done */
    double validation;   /* the loss of these weights on the held-out text, or NAN */
    double held_out;     /* the share of the text that the training held out, or NAN */
    bool trained;        /* the weights are no longer random */
    bool in_training;
    Uses uses;        /* those of its training run, too, which change it */
    SafeTensors file; /* the metadata of the file that it was read from */
    /* of a state, until its training is resumed */
    TrilProgress progress;
    float *moments[2]; /* first and second */
};

struct TrilTraining {
    TrilModel *model; /* borrowed, as the text is */
    const TrilText *text;
    TrilOptions options; /* decided */
    Batches batches;
    Recipe recipe;
    double per_character, per_pair; /* operations for each character, and each one in its window */
    TrilProgress progress; /* determines the place in the text and all random numbers, too */
};

/* Makes a model without contents, for the caller to fill. Released by tril_model_free. */
bool model_new(TrilModel **made, Error *err);

/* Returns `ok`, the success of making a model. Without success, releases it and sets it to NULL. */
bool model_or_free(TrilModel **model, bool ok);

/* Forgets the training of the state that the model was read from. */
void model_forget(TrilModel *model);

/* Returns the model for a run that only reads it, although a run could change it. */
static inline Model *to_read(const TrilModel *model) {
    return (Model *)&model->model;
}

/* Call use_begin, to change a model or to read it, and use_end. model_unlock returns `ok`, the
 * success of the work in between. */
static inline bool model_lock_exclusive(TrilModel *model, Error *err) {
    return use_begin(&model->uses, true, "model", err);
}
static inline bool model_lock_shared(const TrilModel *model, Error *err) {
    return use_begin((Uses *)&model->uses, false, "model", err);
}
static inline bool model_unlock(const TrilModel *model, bool ok) {
    use_end((Uses *)&model->uses);
    return ok;
}

/* Sets *precision to the one named for weights: f32 or int8. Fails for any other. */
bool precision_read(Precision *precision, const char *name, Error *err);

/* Fails because predictions are not finite numbers. */
bool fail_diverged(Error *err);

/* Checks that `x` is in the range. `name` names it in the message. */
bool in_range(double x, double least, double most, const char *name, Error *err);

/* Sets *threads to the number that `wanted` stands for. Fails for one out of range. */
bool threads_wanted(int wanted, int *threads, Error *err);

/* Checks that the text was encoded with a model's vocabulary and, unless the context is unset, that
 * its training part exceeds the context. */
bool text_suits(const TrilText *text, const Vocab *vocab, double context, Error *err);

/* ---- options (option_table.c) ---- */

/* Sets each unset option that has a default to it, and each name to the constant of its row. */
void options_fill(TrilOptions *options);

/* Checks the range of each option that is set. */
bool options_in_range(const TrilOptions *options, Error *err);

/* Sets *config to the sizes of a model with V characters. Fails for options out of range, for an
 * unset size, and where model_check fails. */
bool options_config(const TrilOptions *options, int V, Config *config, Error *err);

/* Returns a record of the sizes of `config`; without kv_heads and hidden at their defaults. */
TrilOptions options_of(const Config *config);

/* Returns the run options of a training run. The options are in range, batch and context set. */
RunOptions options_run(const TrilOptions *options);

/* ---- errors ---- */

/* Returns TRIL_OK if `ok`, else the status in *err. */
static inline TrilStatus result(bool ok, const Error *err) {
    return ok ? TRIL_OK : err->status;
}

/* Returns the status of a function that got a NULL argument, and sets *err. */
static inline TrilStatus null_argument(Error *err) {
    if (err) fail(err, "an argument is NULL; tril.h says which may be");
    return TRIL_ARGUMENT;
}

#endif
