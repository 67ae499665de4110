#include "training/recipe.h"

#include <string.h>

/* That of nanoGPT (Karpathy, 2022), and rates found by trial. */
#define ADAMW(rate)                       \
    {                                     \
        .peak = {.learning_rate = (rate), \
                 .beta1 = 0.9,            \
                 .beta2 = 0.99,           \
                 .epsilon = 1e-8,         \
                 .weight_decay = 0.1,     \
                 .clip = 1},              \
        .warmup = 0.1, .most_warmup = 100 \
    }

static const struct {
    const char *model;
    Recipe recipe;
} recipes[] = {
    {"bigram", ADAMW(0.03)},
    {"average", ADAMW(0.01)},
    {"head", ADAMW(0.01)},
    {"multihead", ADAMW(0.01)},
    {"gpt", ADAMW(1e-3)},
    /* A character that is rare, or only in the held-out text, has a small gradient that always says
       the same: to lower its logit. Adam would make full steps of it, and the embedding, which is
       the head, run away. Hence an epsilon that such gradients do not exceed, and a decay. */
    {"modern",
     {.peak = {.learning_rate = 6e-3,
               .beta1 = 0.9,
               .beta2 = 0.95,
               .epsilon = 1e-5,
               .weight_decay = 1,
               .matrix_rate = 0.025,
               .momentum = 0.9,
               .matrix_decay = 0.1,
               .clip = 1},
      .warmup = 0.025,
      .most_warmup = 100,
      .cooldown = 0.6}},
};

/* Of a rung that has no row: a rate at which all of the above learn something, for its matrices,
 * too, if Muon trains them. */
static const Recipe otherwise = {.peak = {.learning_rate = 2e-3,
                                          .beta1 = 0.9,
                                          .beta2 = 0.99,
                                          .epsilon = 1e-8,
                                          .weight_decay = 0.1,
                                          .matrix_rate = 0.01,
                                          .momentum = 0.9,
                                          .matrix_decay = 0.1,
                                          .clip = 1},
                                 .warmup = 0.1,
                                 .most_warmup = 100};

Recipe recipe_of(const char *model) {
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (strcmp(recipes[i].model, model) == 0) return recipes[i].recipe;
    return otherwise;
}

void recipe_set_rate(Recipe *recipe, double learning_rate) {
    recipe->peak.matrix_rate *= learning_rate / recipe->peak.learning_rate;
    recipe->peak.learning_rate = learning_rate;
}

void recipe_set_decay(Recipe *recipe, double decay) {
    Optimizer *peak = &recipe->peak;
    double all = peak->matrix_rate > 0 ? peak->matrix_decay : peak->weight_decay;
    peak->weight_decay *= decay / all;
    peak->matrix_decay *= decay / all;
}

void recipe_cool(Recipe *recipe, double from, double to) {
    recipe->cooldown = (to - from) / to;
}

Optimizer recipe_step(const Recipe *recipe, int step, int steps) {
    Optimizer now = recipe->peak;
    int warmup = (int)(steps * recipe->warmup), cooldown = (int)(steps * recipe->cooldown);
    if (warmup > recipe->most_warmup) warmup = recipe->most_warmup;
    double share = recipe->cooldown > 0 ? schedule_trapezoid(step, steps, warmup, cooldown)
                                        : schedule_cosine(step, steps, warmup, 0.1);
    now.learning_rate *= share;
    now.matrix_rate *= share;
    return now;
}
