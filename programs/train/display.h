/* display.h - prints the output of ./train. */
#ifndef TRIL_PROGRAMS_TRAIN_DISPLAY_H
#define TRIL_PROGRAMS_TRAIN_DISPLAY_H

#include "base/world.h"
#include "programs/train/plan.h"
#include "programs/train/verdict.h"

/* Prints a line in place of the progress line. Escapes it, except a newline at its start. On a
 * terminal, breaks it between words; continued lines begin with four spaces. */
void show_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the text's path, length and vocabulary. */
void show_corpus(const Plan *plan);

/* Prints the decisions on unset options, with their reasons: those of the rung for which the sizes
 * were chosen and, with a time limit, those against larger ones. */
void show_decisions(const Plan *plan, const RungPlan *sized);

/* Prints the rung with its size and windows, if it is shown `alone`; the step after which it is
 * resumed; and whether other kernels trained it before. */
void show_training(const RungPlan *rung, const TrilModel *model, const TrilTraining *training,
                   const Plan *plan, bool alone);

/* Prints the progress line, which overwrites itself and never takes two lines: for a terminal only.
 * `steps` is the number of all steps, perhaps an estimate. */
void show_progress(const Result *result, const Plan *plan, int steps);

/* On a terminal, shows an activity such as "evaluating" as the progress line, unless --quiet is
 * given; NULL clears that. */
void show_activity(const Plan *plan, const char *activity);

/* Prints the line of an evaluation: its figures, with the mean loss of the batches before it, and
 * the text that the model generated. */
void show_evaluation(const Result *result, const Plan *plan, int steps, double recent,
                     double validation, const char *mark, const char *sample);

/* The time of a rung's training in this run of the program, for --profile. */
enum { MAX_PARTS = 48 };
typedef struct {
    TrilPart parts[MAX_PARTS]; /* [count], the parts of the steps */
    int count;
    double steps, evaluations, all; /* seconds */
    double memory;                  /* bytes of the training, and of the samples that it writes */
    const char *kernels;
    uint64_t digest; /* of the kept weights */
} RungTimes;

/* Prints the table of --profile for the rung `of`, the longest part first, below its kernels, the
 * program's memory, and the digest of the weights. */
void show_profile(const char *of, const TrilText *text, const RungTimes *times);

/* With several processes, prints the bytes of the vectors exchanged in each of `steps` steps, which
 * took `seconds` seconds, and the share of that time in which this process waited. */
void show_sharing(const Traffic *traffic, int steps, double seconds);

/* Print the head of the table of losses and compute, and a row, in which an arrow marks a rung that
 * needs more steps. */
void show_head(void);
void show_result(const Result *result);

/* Prints a line that explains the marks in evaluations and the table, if there are any. */
void show_legend(const Plan *plan, const Result *results, int count);

/* Prints the next commands: sample from `model` and from `best`, open the report (if `page`), train
 * further if that would help, or resume after an interruption. `model`: the result of --model, else
 * of the last rung trained, or NULL. `best`: the lowest of a ladder, or NULL. Fails without memory.
 */
bool show_next_steps(const Plan *plan, const Result *model, const Result *best, bool page,
                     Error *err);

#endif
