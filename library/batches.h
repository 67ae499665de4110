/* batches.h - a run of a model on a text: training steps on its batches, and evaluations. Several
 * processes (base/world.h) share each of them; all call these functions. */
#ifndef TRIL_LIBRARY_BATCHES_H
#define TRIL_LIBRARY_BATCHES_H

#include "data/data.h"
#include "library/tril.h"
#include "model/run.h"

/* A callback, and whether it has asked to stop. */
typedef struct {
    TrilStop stop; /* may be NULL */
    void *user;
    bool stopped;
} StopCheck;

/* Calls the callback, unless it asked to stop before. Returns true if it asked to. */
int stop_requested(void *check);

typedef struct {
    Run *run; /* the caller may use it directly */
    Model *model;
    RunOptions options;
    const Corpus *corpus; /* borrowed */
    int32_t *inputs, *targets;
    size_t *starts; /* where the windows of this process's part of a batch are in the text */
    double seconds; /* spent in all steps */
} Batches;

/* Opens a run, as run_open does. Borrows the model and the corpus. batches_close releases it; on
 * failure there is nothing to close. */
bool batches_open(Batches *batches, Model *model, const RunOptions *options, const Corpus *corpus,
                  Error *err);
void batches_close(Batches *batches);

typedef struct {
    double loss; /* the batch's, before the update */
    double norm; /* the gradient's, unless the loss is not finite, which prevents the update */
} Step;

/* Trains on batch number `step`: forward, backward and an update. Its windows are cut into pieces
 * of `window` characters, which divides their length. */
Step batches_step(Batches *batches, uint64_t step, int window, const Optimizer *optimizer);

/* Sets *loss to the mean loss on a part of the text, read as tril_training_evaluate does. Fails
 * with TRIL_STOPPED if `check` asked to stop, and for weights that differ between processes, which
 * means that memory, messages or programs are broken. */
bool batches_evaluate(Batches *batches, bool on_training_part, size_t characters, StopCheck *check,
                      double *loss, Error *err);

#endif
