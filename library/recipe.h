/* recipe.h - the hyperparameters of each rung's optimizer, and the schedule of its rates. */
#ifndef TRIL_LIBRARY_RECIPE_H
#define TRIL_LIBRARY_RECIPE_H

#include "model/run.h"

typedef struct {
    Optimizer peak;  /* the settings at the peak of the rates */
    double warmup;   /* the rates rise in this share of the steps, */
    int max_warmup;  /* but in so many steps at most */
    double cooldown; /* the rates fall linearly to 0 in this last share of the steps; 1: from the
                        end of the warm-up on; 0: instead, half a cosine from there to a tenth */
    bool grows;      /* the windows are short at first: recipe_window */
    bool own_decay;  /* peak.weight_decay is of the embedding alone, and peak.matrix_decay of the
                        matrices */
} Recipe;

/* The recipe of the rung `model`. A rung without its own recipe gets rates at which it learns,
 * though others may be better. */
Recipe recipe_of(const char *model);

/* Sets the peak learning rate; Muon's changes in proportion. */
void recipe_set_learning_rate(Recipe *recipe, double learning_rate);

/* Sets the weight decay of the matrices, and of the embedding if it has none of its own. */
void recipe_set_weight_decay(Recipe *recipe, double decay);

/* Sets the embedding's own weight decay. Without one nothing changes. */
void recipe_set_embedding_decay(Recipe *recipe, double decay);

/* Makes the rates fall from step `start` to step `end`, which is the last. */
void recipe_set_cooldown(Recipe *recipe, double start, double end);

/* The length of the windows in step `step`, counted from 0, of `steps`: a divisor of the context T.
 * What is near is learnt first, and in short windows for less compute: they are a quarter of T for
 * 65 % of the steps, a half until 89 %, but not below 64 characters (Press, Smith and Lewis,
 * "Shortformer", 2021; the shares are from trials, docs/records.md). T throughout if the recipe
 * does not say that windows grow. */
int recipe_window(const Recipe *recipe, int T, int step, int steps);

/* The share of a target that is what a teacher expects; the rest is the actual character. */
#define TEACHER_SHARE 0.5

/* The optimizer settings in step `step`, counted from 0, of `steps`. */
Optimizer recipe_step(const Recipe *recipe, int step, int steps);

#endif
