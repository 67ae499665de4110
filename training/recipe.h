/* recipe.h - how each rung is trained: by which optimizer, at what rates, on which schedule. */
#ifndef TRIL_RECIPE_H
#define TRIL_RECIPE_H

#include "model/model.h"

typedef struct {
    Optimizer peak; /* with the rates at their highest */
    double warmup;  /* the share of the steps in which the rates rise, and the most of them */
    int most_warmup;
    double cooldown; /* the share of the steps, at the end, in which they fall in a line to 0; or,
                        where that is 0, all fall along half a cosine to a tenth */
} Recipe;

/* The recipe of the rung of that name; of one that has none of its own, rates at which it learns,
 * though others may be better. */
Recipe recipe_of(const char *model);

/* Sets its peak learning rate; Muon's changes in proportion. */
void recipe_set_rate(Recipe *recipe, double learning_rate);

/* Sets its weight decay; where it has Muon, that of the matrices, and the other in proportion. */
void recipe_set_decay(Recipe *recipe, double decay);

/* Of a training of which the rates are to fall from `from` to `to`. */
void recipe_cool(Recipe *recipe, double from, double to);

/* The optimizer of a step, counted from 0. */
Optimizer recipe_step(const Recipe *recipe, int step, int steps);

#endif
