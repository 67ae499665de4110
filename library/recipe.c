#include "library/recipe.h"

#include <string.h>

/* AdamW as in nanoGPT (Karpathy, 2022), with rates found by trial. */
#define ADAMW(rate)                       \
    {                                     \
        .peak = {.learning_rate = (rate), \
                 .beta1 = 0.9,            \
                 .beta2 = 0.99,           \
                 .epsilon = 1e-8,         \
                 .weight_decay = 0.1,     \
                 .clip = 1},              \
        .warmup = 0.1, .max_warmup = 100  \
    }

/* Muon for the matrices. A rare character, or one that only the held-out text has, gets small
   gradients that always lower its logit. Adam turns them into full steps, and the embedding, which
   is also the head, would grow without end. A large epsilon keeps such steps small, and a decay
   pulls back. */
#define MUON(rate, cooling)                                                       \
    {                                                                             \
        .peak = {.learning_rate = (rate),                                         \
                 .beta1 = 0.9,                                                    \
                 .beta2 = 0.95,                                                   \
                 .epsilon = 1e-5,                                                 \
                 .weight_decay = 1,                                               \
                 .matrix_rate = 0.025,                                            \
                 .momentum = 0.9,                                                 \
                 .matrix_decay = 0.1,                                             \
                 .clip = 1},                                                      \
        .warmup = 0.025, .max_warmup = 100, .cooldown = (cooling), .grows = true, \
        .own_decay = true                                                         \
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
    {"modern", MUON(6e-3, 0.6)},
    /* AdamW, which trains the convolutions, is faster, and the rates fall at once */
    {"conv", MUON(0.015, 1)},
};

/* For a rung without a row: rates at which all rungs above learn something, by AdamW or by Muon. */
static const Recipe fallback = {.peak = {.learning_rate = 2e-3,
                                         .beta1 = 0.9,
                                         .beta2 = 0.99,
                                         .epsilon = 1e-8,
                                         .weight_decay = 0.1,
                                         .matrix_rate = 0.01,
                                         .momentum = 0.9,
                                         .matrix_decay = 0.1,
                                         .clip = 1},
                                .warmup = 0.1,
                                .max_warmup = 100};

Recipe recipe_of(const char *model) {
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (strcmp(recipes[i].model, model) == 0) return recipes[i].recipe;
    return fallback;
}

void recipe_set_learning_rate(Recipe *recipe, double learning_rate) {
    recipe->peak.matrix_rate *= learning_rate / recipe->peak.learning_rate;
    recipe->peak.learning_rate = learning_rate;
}

void recipe_set_weight_decay(Recipe *recipe, double decay) {
    recipe->peak.matrix_decay = decay;
    if (!recipe->own_decay) recipe->peak.weight_decay = decay;
}

void recipe_set_embedding_decay(Recipe *recipe, double decay) {
    if (recipe->own_decay) recipe->peak.weight_decay = decay;
}

void recipe_set_cooldown(Recipe *recipe, double start, double end) {
    recipe->cooldown = (end - start) / end;
}

int recipe_window(const Recipe *recipe, int T, int step, int steps) {
    const int shortest = 64;
    const double quarter = 0.65, half = 0.89; /* shares of the steps */
    int pieces = step < quarter * steps ? 4 : step < half * steps ? 2 : 1;
    if (!recipe->grows) return T;
    while (pieces > 1 && (T % pieces > 0 || T / pieces < shortest)) pieces /= 2;
    return T / pieces;
}

Optimizer recipe_step(const Recipe *recipe, int step, int steps) {
    Optimizer now = recipe->peak;
    int warmup = (int)(steps * recipe->warmup), cooldown = (int)(steps * recipe->cooldown);
    if (warmup > recipe->max_warmup) warmup = recipe->max_warmup;
    double share = recipe->cooldown > 0 ? rate_warmup_stable_decay(step, steps, warmup, cooldown)
                                        : rate_cosine(step, steps, warmup, 0.1);
    now.learning_rate *= share;
    now.matrix_rate *= share;
    return now;
}
