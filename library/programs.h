/* programs.h - the functions that ./train needs beyond tril.h. They are not exported, and follow
 * its rules. */
#ifndef TRIL_LIBRARY_PROGRAMS_H
#define TRIL_LIBRARY_PROGRAMS_H

#include "library/tril.h"

enum {
    TRIL_STANDARD_STEPS = 2500, /* default steps of a training run; fewer if the text is short */
    TRIL_EVALUATIONS = 10,      /* default evaluations in it; fewer if they take long */
    TRIL_LEAST_STEPS = 20       /* the fewest steps that are worth their time */
};

/* ---- texts ---- */

/* Sets *share to the share of the held-out characters that are in passages of 50 characters or more
 * that the training part has, too: a model may know them by heart. Looks at most at 65,536
 * characters, in pieces all over the held-out part. */
TrilStatus tril_text_repeated(const TrilText *text, double *share, TrilError *error);

/* ---- decisions ---- */

/* Returns options of which only the seed is set. */
TrilOptions tril_options_empty(void);

/* Returns the sizes of `options` as a model of its rung uses them, with kv_heads and hidden set. A
 * size that the rung ignores is 1. All other options are unset. */
TrilOptions tril_options_sizes(const TrilOptions *options);

/* Copies the sizes of a model, and its rung, to the options. */
void tril_options_take_sizes(TrilOptions *options, const TrilOptions *sizes);

/* Returns the most epochs that help when training on this number of characters. */
double tril_epochs_that_help(double characters, bool trained);

/* Checks all ranges, and that a model of `rung` could have these sizes; unset ones count as the
 * smallest. TRIL_ARGUMENT: an option is out of range. */
TrilStatus tril_options_check(const TrilOptions *options, TrilError *error);

/* Returns true if option i has an effect on a model of this rung, or on its training. */
bool tril_rung_uses(const char *rung, int i);

/* Returns the peak of the learning rate that the rung has for the sizes and the steps in `options`
 * unless they set it; unset ones: for two blocks of width 96, and many steps. */
double tril_rung_rate(const char *rung, const TrilOptions *options);

/* Returns true if unset windows are longer than those of other rungs, for a text that is long. */
bool tril_rung_has_long_windows(const char *rung);

/* Returns true if windows are short at first, and grow, in a training run of this rung that sees
 * its text `epochs` times. They do not if the model is already trained, because it knows near
 * context; nor if the text is seen often: a model may memorize it, which evaluations do not show
 * while windows are short. */
bool tril_windows_grow(const char *rung, double epochs, bool trained);

/* Returns the fraction of its steps, 0 to 1, that a training run has taken after the fraction
 * `time` of its total time: more than `time` if the windows grow. `slowdown` is that of the
 * TrilChoice, or 1 if they do not grow. */
double tril_steps_taken(const TrilOptions *options, double slowdown, double time);

/* Returns the precision that a name means on this machine: "f32", "bf16", or else NULL. */
const char *tril_precision(const char *name);

/* Returns the number of threads that `wanted` means: at most the number of processors available to
 * this program. Unset, it means that number, or OMP_NUM_THREADS if that is less. */
int tril_threads(double wanted);

/* ---- training ---- */

/* Return the bytes of a training run without its text; its instruction set, such as "avx2"; the
 * length of the windows in the next step. */
double tril_training_memory(const TrilTraining *training);
const char *tril_training_kernels(const TrilTraining *training);
int tril_training_window(const TrilTraining *training);

/* tril_training_profile measures each part of a step from now on. tril_training_parts writes the
 * parts to parts[capacity], and returns their number. */
TrilStatus tril_training_profile(TrilTraining *training, TrilError *error);
int tril_training_parts(const TrilTraining *training, TrilPart *parts, int capacity);

#endif
