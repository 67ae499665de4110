/* recipe.h - the hyperparameters of each rung's optimizer, and how its rates change. */
#ifndef TRIL_LIBRARY_RECIPE_H
#define TRIL_LIBRARY_RECIPE_H

#include "library/programs.h"
#include "model/run.h"

typedef struct {
    Optimizer peak;                  /* the settings at the peak of the rates */
    double warmup;                   /* the share of the steps in which the rates rise */
    double least_warmup, max_warmup; /* the fewest and the most steps in which they rise; the fewest
                                        only up to 0.3 of the steps */
    double cooldown;      /* the share of the steps, at the end, in which the rates fall linearly to
                             zero; without one they fall along half a cosine to a tenth */
    bool windows_grow;    /* the windows may be short at first: recipe_window */
    double window_factor; /* unset windows are up to so many times as long as other rungs'; 0: 1 */
    double short_run_steps; /* with fewer steps the learning rate is higher in proportion, */
    double max_rate_factor; /* at most by this factor */
    bool own_decay; /* peak.weight_decay is for the embedding, peak.matrix_decay for matrices */
} Recipe;

/* Returns the recipe of a rung. A rung without a row gets rates that work, maybe not the best. */
Recipe recipe_of(const char *rung);

/* Returns the recipe with the learning rate that `options` set or, if it is unset, with that for
 * their sizes. Muon's rate is proportional to it. */
Recipe recipe_with(const char *rung, const TrilOptions *options);

/* Returns the decay of an embedding with its own decay: the recipe's times (epochs / 4)^2, or times
 * 1000 V / N if that is more, for V characters in the vocabulary and N to train on; never above the
 * recipe's. The decay keeps a model from memorizing a text, but slows learning before that. With
 * fewer than a thousand characters of text for each character of the vocabulary some are rare, and
 * only the decay keeps their vectors from growing without end (recipe.c). Found by trial
 * (docs/records.md). */
double recipe_embedding_decay(const Recipe *recipe, int V, double epochs, double characters);

/* Returns the length of the windows in step `step`, counted from 0, of `steps`: a divisor of the
 * context T. Near context is learned first, and short windows cost less compute. So the windows are
 * a quarter of T for 65% of the steps and half of T until 89%, but never below 64 characters
 * (Press, Smith and Lewis, "Shortformer", 2021; the shares are from trials, docs/records.md). T
 * throughout unless the recipe's windows grow. */
int recipe_window(const Recipe *recipe, int T, int step, int steps);

/* Returns the peak of the learning rate for `steps` steps; NaN: a long run. It follows from the
 * present number of steps, which a time limit may change, so that resumed runs continue exactly. */
double recipe_peak(const Recipe *recipe, double steps);

/* Returns the optimizer settings in step `step`, counted from 0, of `steps`. */
Optimizer recipe_step(const Recipe *recipe, int step, int steps);

#endif
