/* display.h - what ./train prints, and where its time goes. */
#ifndef TRIL_PROGRAMS_TRAIN_DISPLAY_H
#define TRIL_PROGRAMS_TRAIN_DISPLAY_H

#include "programs/train/plan.h"
#include "programs/train/verdict.h"

/* ---- where the time goes ---- */

enum { MAX_LINES = 96 };

/* All of the time, from its start to its stop, is on one of its lines. One that is {0} was never
 * started, and measures nothing. */
typedef struct {
    TrilPart lines[MAX_LINES]; /* the first one: what has no line of its own */
    int count;
    int now;      /* the line under way */
    double since; /* clock_seconds() when that began, */
    double begun; /* and when the first did */
} Stopwatch;

/* Starts it at `begun`, a value of clock_seconds(). Time goes to the line `rest` until
 * stopwatch_enter, then to the line `name` until stopwatch_leave. Names are constants. */
void stopwatch_start(Stopwatch *watch, const char *rest, double begun);
void stopwatch_enter(Stopwatch *watch, const char *name);
void stopwatch_leave(Stopwatch *watch);

/* Puts `parts` of the time of line `name` on lines of their own. The line keeps the time that no
 * part took. */
void stopwatch_split(Stopwatch *watch, const char *name, const TrilPart *parts, int count);

/* Stops it, and prints the lines under the name of what it measured, the longest first. */
void stopwatch_stop(Stopwatch *watch, const char *of);

/* ---- lines ---- */

/* Prints a line in place of the progress line. Escapes it, but for a newline at its start. On a
 * terminal it breaks between words, and the next lines begin with four spaces. */
void show_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the text's path, length and vocabulary. */
void show_corpus(const Plan *plan);

/* The reasons of a plan's decisions. */
typedef struct {
    TrilChoice choice;  /* with a time limit */
    double epochs_seen; /* the expected number of epochs */
    double evaluating;  /* with a time limit: the expected share of the time for evaluations */
} Decisions;

/* Prints the decisions on unset options, with their reasons. */
void show_decisions(const Plan *plan, const Decisions *decisions);

/* Prints what will be trained, from which step and with which windows; and the memory of the
 * training, the text and the program. `kernels`: those that trained it before; empty: unknown. */
void show_training(const RungFiles *rung, const TrilModel *model, const TrilTraining *training,
                   const Plan *plan, const char *kernels);

/* On a terminal: prints the progress line, which overwrites itself and never takes two lines.
 * `steps` is the number of all steps, as far as known. */
void show_progress(const Progress *progress, const Plan *plan, int steps, const Course *course);

/* On a terminal: prints what the program does meanwhile, such as "evaluating", in place of the
 * progress line; NULL clears it. */
void show_activity(const char *activity);

/* Prints the two lines of an evaluation: its figures, with the mean loss of the batches before it,
 * and the text that the model generated. */
void show_evaluation(const Progress *progress, const Plan *plan, int steps, double recent,
                     double validation, const char *mark, const char *sample);

/* With several processes: prints what was sent in so many steps, which took so many seconds, and
 * how long this process waited. */
void show_sharing(const TrilTraffic *traffic, int steps, double seconds);

/* Prints the table of losses and of compute, and the digests of the weights. An arrow marks a rung
 * whose verdict asks for more steps. */
void show_results(const Result *results, int count);

/* Prints what to do next, as commands to paste. If the training of the model has begun (`trained`):
 * to sample from it, to see its report if it was written (`page`), to train it further with the
 * options `longer` (NULL: that would not help). If it was interrupted: to resume it. */
void show_next_steps(const Plan *plan, bool trained, bool page, const char *longer);

#endif
