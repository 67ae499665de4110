/* display.h - what ./train prints while it works. */
#ifndef TRIL_TRAINING_DISPLAY_H
#define TRIL_TRAINING_DISPLAY_H

#include "report/spark.h"
#include "training/saving.h"
#include "training/workers.h"

/* --resume finds no state at `path`. */
void show_no_state(const char *path);

void show_corpus(const char *path, const Corpus *corpus);

/* What was decided where the request left it open, and fewer threads than were asked for. */
void show_plan(const Request *request, const Plan *plan, bool resumed);

/* The files that were in the way of this training are now in the folder `where`. */
void show_set_aside(const char *where);

/* The log at `path` is not as the training left it, and is now in the folder `where`. */
void show_other_log(const char *path, const char *where);

/* A baseline whose table would be too large for this text. */
void show_left_out(const char *name, const Corpus *corpus);

/* What is about to be trained, and the memory of the training, the text and the program. `done`
 * steps were taken before. */
void show_training(const Model *model, const Run *run, const Plan *plan, const Corpus *corpus,
                   int done);

/* A training goes on with other kernels than it had. */
void show_kernels(const Progress *progress, const Run *run);

/* On a terminal: the line that is written over and over. `steps` are those in all, as far as is
 * known. */
void show_progress(const Progress *progress, const Plan *plan, int steps, const Spark *spark);

/* The two lines of an evaluation: its figures, and what the model wrote. */
void show_evaluation(const Progress *progress, const Plan *plan, int steps, double validation,
                     const char *mark, const char *sample);

/* Why the training ends early, and why the rates fall early. */
void show_early_stop(const Progress *progress);
void show_early_decay(const Progress *progress);

/* What it took to share the steps with other processes, if there are any. */
void show_sharing(const Workers *workers);

/* The table of losses. */
void show_results(const Result *results, int count);

#endif
