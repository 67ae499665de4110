/* workers.h - a model in training, on one process or on several (base/world.h).
 *
 * The first process alone reads and writes files, prints, and chooses the next command. It sends
 * each to the others, the workers, and takes part in it itself. A worker has a copy of the
 * text and of the model, executes its part of each command (tril_processes_serve), and opens no
 * file. With one process these functions only call run.h. */
#ifndef TRIL_LIBRARY_WORKERS_H
#define TRIL_LIBRARY_WORKERS_H

#include "data/data.h"
#include "library/tril.h"
#include "model/run.h"

/* A callback, and whether it has asked to stop. */
typedef struct {
    TrilStop stop; /* may be NULL */
    void *user;
    bool stopped;
} Asking;

/* Calls the callback of an Asking, unless it asked to stop before. Returns true if it asked to. */
int ask(void *asking);

typedef struct {
    Run *run; /* the caller may use it directly for work without workers, such as writing text */
    Model *model;
    RunOptions options;
    const Corpus *corpus; /* borrowed; a worker knows only its ids and their numbers */
    int32_t *inputs, *targets;
    size_t *starts; /* where the windows of a batch are in the text */
    double seconds; /* spent in all steps */
} Workers;

/* Sends the text and the model to the workers, and opens a run of it on every process; only one at
 * a time. Borrows the model and the corpus. workers_close releases the run. Fails for a second run,
 * if there are several processes; for too little memory in any process; and for other kernels than
 * the first process has, because they round differently. On failure there is nothing to close. */
bool workers_open(Workers *workers, Model *model, const RunOptions *options, const Corpus *corpus,
                  Error *err);
void workers_close(Workers *workers);

/* Calls run_restore on all processes: continues after `step` updates, with these moments. */
void workers_restore(Workers *workers, uint64_t step, const float *first_moments,
                     const float *second_moments);

typedef struct {
    double loss; /* the batch's, before the update */
    double norm; /* the gradient's, unless the loss is not finite, which prevents the update */
} Step;

/* Trains on batch number `step`: forward, backward and an update. Its windows are cut into pieces
 * of `window` characters, which divides their length. */
Step workers_step(Workers *workers, uint64_t step, int window, const Optimizer *optimizer);

/* Sets *loss to the mean loss on a part of the text, read as tril_training_evaluate does. There is
 * none if `asking` asked to stop. Fails for weights that differ between processes, which means that
 * memory, messages or programs are broken. */
bool workers_evaluate(Workers *workers, bool trained_on, size_t characters, Asking *asking,
                      double *loss, Error *err);

/* Collects all moments in the first process's run, before they are saved. */
void workers_collect(Workers *workers);

#endif
