#include "library/recipe.h"
#include "base/array.h"
#include "base/elementary.h"

#include <math.h>
#include <string.h>

/* AdamW as in nanoGPT (Karpathy, 2022). Muon's settings are for rungs without a row below. */
static const Recipe adamw = {.peak = {.beta1 = 0.9,
                                      .beta2 = 0.99,
                                      .epsilon = 1e-8,
                                      .weight_decay = 0.1,
                                      .momentum = 0.9,
                                      .matrix_decay = 0.1,
                                      .clip = 1},
                             .warmup = 0.1,
                             .max_warmup = 100};

/* Muon for the matrices. A rare character, or one that only the held-out text has, gets small
   gradients that always lower its logit. Adam turns them into full steps, and the embedding, which
   is also the output layer, would grow without end. A large epsilon keeps such steps small, and a
   decay pulls the embedding back. */
static const Recipe muon = {.peak = {.beta1 = 0.9,
                                     .beta2 = 0.95,
                                     .epsilon = 1e-5,
                                     .weight_decay = 1,
                                     .momentum = 0.9,
                                     .matrix_decay = 0.1,
                                     .clip = 1},
                            .warmup = 0.025,
                            .max_warmup = 100,
                            .grows = true,
                            .own_decay = true};

/* Rates found by trial (docs/records.md). */
static const struct {
    const char *rung;
    const Recipe *base;
    double learning_rate, matrix_rate, cooldown, longer, few, hurry, least_warmup;
} recipes[] = {
    {"bigram", &adamw, 0.03, 0, 0, 1, .few = 1000, .hurry = 6},
    {"average", &adamw, 0.02, 0, 0, 1, .few = 200, .hurry = 2},
    {"head", &adamw, 0.02, 0, 0, 1, .few = 200, .hurry = 2},
    {"multihead", &adamw, 0.02, 0, 0, 1, .few = 200, .hurry = 2},
    {"gpt", &adamw, 5e-3, 0, 0, 1, .least_warmup = 30},
    {"modern", &muon, 6e-3, 0.025, 0.6, .longer = 1},
    /* AdamW, which trains the convolutions, has a higher rate; it falls after the warm-up */
    {"conv", &muon, 0.015, 0.025, 1, .longer = 1},
    /* begins with the counted model, and has less to learn, most of it from far context */
    {"ngram", &muon, 7.5e-3, 0.0125, 1, .longer = 4},
    /* any other rung: rates at which all rungs above learn, with AdamW or Muon */
    {"", &adamw, 2e-3, 0.01, 0, .longer = 1},
};

Recipe recipe_of(const char *rung) {
    int i = 0;
    while (i < COUNT(recipes) - 1 && strcmp(recipes[i].rung, rung) != 0) i++;
    Recipe recipe = *recipes[i].base;
    recipe.peak.learning_rate = recipes[i].learning_rate;
    recipe.peak.matrix_rate = recipes[i].matrix_rate;
    recipe.cooldown = recipes[i].cooldown;
    recipe.longer = recipes[i].longer;
    recipe.few = recipes[i].few;
    recipe.hurry = recipes[i].hurry;
    recipe.least_warmup = recipes[i].least_warmup;
    return recipe;
}

/* Returns the factor on gpt's rate, which is for up to 2 blocks of width 96. AdamW moves each
 * weight by about the rate, so a layer's output moves by the rate times its width, and the residual
 * stream sums the layers. With smaller sizes a higher rate is better in large batches, but fails in
 * small ones. Found by trial. */
static double factor_of_sizes(const TrilOptions *o) {
    return fmin(1, 96 * sqrt(2) / (o->width * sqrt(o->layers))); /* unset sizes: 1 */
}

Recipe recipe_with(const char *rung, const TrilOptions *o) {
    Recipe recipe = recipe_of(rung);
    Optimizer *peak = &recipe.peak;
    if (!isnan(o->learning_rate)) {
        peak->matrix_rate *= o->learning_rate / peak->learning_rate;
        peak->learning_rate = o->learning_rate;
        recipe.few = 0;
    } else if (strcmp(rung, "gpt") == 0) {
        peak->learning_rate *= factor_of_sizes(o);
    }
    return recipe;
}

double tril_rung_rate(const char *rung, const TrilOptions *options) {
    const Recipe recipe = options ? recipe_with(rung, options) : recipe_of(rung);
    return recipe_peak(&recipe, options ? options->steps : NAN);
}

bool tril_rung_looks_far(const char *rung) {
    return recipe_of(rung).longer > 1;
}

bool tril_windows_grow(const char *rung, double epochs, bool trained) {
    const double often = 8;
    return recipe_of(rung).grows && !trained && epochs <= often;
}

double recipe_embedding_decay(const Recipe *recipe, int V, double epochs, double characters) {
    const double several = 4, common = 1000;
    double often = fmin(1, epochs / several), rare = fmin(1, common * V / characters);
    return round(1000 * recipe->peak.weight_decay * fmax(often * often, rare)) / 1000;
}

int recipe_window(const Recipe *recipe, int T, int step, int steps) {
    const int shortest = 64;
    const double quarter = 0.65, half = 0.89; /* shares of the steps */
    int pieces = step < quarter * steps ? 4 : step < half * steps ? 2 : 1;
    if (!recipe->grows) return T;
    while (pieces > 1 && (T % pieces > 0 || T / pieces < shortest)) pieces /= 2;
    return T / pieces;
}

/* Returns the share of the peak rates after the warm-up (Loshchilov and Hutter, "SGDR", 2017). */
static double cosine_share(int step, int steps, int warmup) {
    static const double pi = 3.14159265358979323846, last = 0.1;
    if (step >= steps) return last;
    double progress = (double)(step - warmup) / (steps - warmup), cosine, sine;
    cosine_and_sine(pi * progress, &cosine, &sine);
    return last + 0.5 * (1 + cosine) * (1 - last);
}

/* The same for constant rates and a cooldown (Hu et al., "MiniCPM", 2024; Haegele et al., 2024). */
static double linear_share(int step, int steps, int cooldown) {
    if (step <= steps - cooldown) return 1;
    return step < steps ? (double)(steps - step) / cooldown : 0;
}

double recipe_peak(const Recipe *recipe, double steps) {
    const double factor = steps < recipe->few ? fmin(recipe->hurry, recipe->few / steps) : 1;
    return factor * recipe->peak.learning_rate;
}

Optimizer recipe_step(const Recipe *recipe, int step, int steps) {
    Optimizer now = recipe->peak;
    const double most = 0.3, least = fmin(recipe->least_warmup, most * steps);
    int warmup = (int)fmax(steps * recipe->warmup, least),
        cooldown = (int)(steps * recipe->cooldown);
    if (warmup > recipe->max_warmup) warmup = (int)recipe->max_warmup;
    double share = step < warmup          ? (double)(step + 1) / (warmup + 1)
                   : recipe->cooldown > 0 ? linear_share(step, steps, cooldown)
                                          : cosine_share(step, steps, warmup);
    now.learning_rate = share * recipe_peak(recipe, steps);
    now.matrix_rate *= share;
    return now;
}
