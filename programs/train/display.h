/* display.h - what ./train prints while it works. */
#ifndef TRIL_PROGRAMS_TRAIN_DISPLAY_H
#define TRIL_PROGRAMS_TRAIN_DISPLAY_H

#include "programs/train/spark.h"
#include "programs/train/saved.h"
#include "programs/train/stopwatch.h"
#include "programs/train/verdict.h"

/* --resume found no state at `path`. */
void show_no_state(const char *path);

/* The text: its path, length and vocabulary. */
void show_corpus(const char *path, const Input *input);

/* The number of its characters that were added to the model of --init. */
void show_added(int added, const Input *input);

/* The decisions on what the request left open, with their reasons, and fewer threads than it asked
 * for. */
void show_plan(const Request *request, const Plan *plan, const Input *input, bool resumed);

/* Files that were in the way of this training have been moved to the folder `where`. */
void show_set_aside(const char *where);

/* The log at `path` has been changed since the training wrote it, and has been moved to the folder
 * `where`. */
void show_other_log(const char *path, const char *where);

/* A baseline is left out: its table would be too large for this text. */
void show_left_out(const char *name, const Input *input);

/* The lengths of the next and of the last windows, if they differ; `done` steps are taken. */
void show_windows(int next, int last, int done);

/* What will be trained, the steps that were taken before, and the memory of the training, the text
 * and the program. */
void show_training(const RungPlan *rung, const TrilModel *model, const TrilTraining *training,
                   const Plan *plan, const Input *input);

/* A training is resumed with other kernels than `before`; empty: they are not known. */
void show_kernels(const char *before, const TrilTraining *training);

/* On a terminal: the progress line, which overwrites itself and never takes two lines. `steps` is
 * the number of all steps, as far as known. */
void show_progress(const Progress *progress, const Plan *plan, int steps, const Spark *spark);

/* On a terminal: what the program does meanwhile, such as "evaluating". It stands in the place of
 * the progress line until the next output overwrites it; show_nothing clears it. */
void show_activity(const char *activity);
void show_nothing(void);

/* The two lines of an evaluation: its figures, with the mean loss of the batches before it, and the
 * text that the model generated. */
void show_evaluation(const Progress *progress, const Plan *plan, int steps, double recent,
                     double validation, const char *mark, const char *sample);

/* Why the training ends early, and why the rates fall early. */
void show_early_stop(const Progress *progress);
void show_early_decay(const Progress *progress);

/* What was sent in so many steps, which took so many seconds, and how long this process waited: if
 * it shares them with others. */
void show_sharing(const TrilTraffic *traffic, int steps, double seconds);

/* The table of losses and of compute, and the digests of the weights. An arrow marks a rung of
 * which one of the `said` verdicts asks for more steps. */
void show_results(const Result *results, int count, const Verdict *verdicts, int said);

/* Where the time of `name` went: of the training of a rung, or of the program. */
void show_profile(const char *name, const Stopwatch *watch);

/* While the rung trains: a line for the verdict. At the end: a paragraph for each. Of a ladder the
 * table marks the rungs that were still falling, which is not repeated. */
void show_verdict(const Verdict *verdict);
void show_verdicts(const Plan *plan, const Verdict *verdicts, int count);

#endif
