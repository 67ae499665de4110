/* recipe.h - the hyperparameters of each rung's optimizer, and the schedule of its rates. */
#ifndef TRIL_TRAINING_RECIPE_H
#define TRIL_TRAINING_RECIPE_H

#include "model/model.h"

typedef struct {
    Optimizer peak; /* with the rates at their highest */
    double warmup;  /* the share of the steps in which the rates rise */
    int max_warmup; /* steps */
    double
        cooldown; /* the share of the steps, at the end, in which the rates fall linearly to 0. If
                     it is 0, the rates fall from the warm-up on along half a cosine to a tenth */
} Recipe;

/* The recipe of the rung of that name. A rung without a recipe of its own gets rates at which it
 * learns, though others may be better. */
Recipe recipe_of(const char *model);

/* Sets the peak learning rate; Muon's changes in proportion. */
void recipe_set_learning_rate(Recipe *recipe, double learning_rate);

/* Sets the weight decay. With Muon it is that of the matrices, and the other changes in proportion.
 */
void recipe_set_weight_decay(Recipe *recipe, double decay);

/* Makes the rates fall from step `start` to step `end`, which is the last. */
void recipe_set_cooldown(Recipe *recipe, double start, double end);

/* The optimizer at a step, from 0, of a training of `steps`. */
Optimizer recipe_step(const Recipe *recipe, int step, int steps);

#endif
