/* display.h - what ./train prints. */
#ifndef TRIL_DISPLAY_H
#define TRIL_DISPLAY_H

#include "report/spark.h"
#include "training/crew.h"
#include "training/plan.h"
#include "training/saving.h"

enum { GROUPED_ROOM = 32 };

/* 1234567 as 1,234,567; returns `text`. */
const char *grouped(size_t number, char text[GROUPED_ROOM]);

void show_corpus(const char *path, const Corpus *corpus);

/* What was chosen where `asked` left it open, for the time and for the text. */
void show_plan(const Settings *asked, const Settings *settings, const Plan *plan);

/* The files that were in the way of this training are now in the folder `where`. */
void show_set_aside(const char *where);

/* The log at `path` is not as the training left it, and is now in the folder `where`. */
void show_other_log(const char *path, const char *where);

/* What is about to be trained, and what memory it takes, with the text and the program. `done`
 * steps were taken before. */
void show_training(const Model *model, const Run *run, const Settings *settings,
                   const Corpus *corpus, int done);

/* Of a training that goes on with other kernels than it had. */
void show_kernels(const Progress *progress, const Run *run);

/* The line that is written over again and again, on a terminal; and the two that stay, the other
 * with what the model wrote. `steps` are those in all, as far as is known. */
void show_progress(const Progress *progress, const Settings *settings, int steps,
                   const Spark *spark);
void show_evaluation(const Progress *progress, const Settings *settings, int steps,
                     double validation, const char *mark, const char *excerpt);

/* Why training ends before its time. */
void show_hopeless(const Progress *progress);

/* Likewise; but the learning rate only begins to fall. */
void show_cooling(const Progress *progress);

/* What it took to share the steps with other processes, if there are any. */
void show_sharing(const Crew *crew);

void show_results(const Result *results, int count);

#endif
