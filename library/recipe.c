#include "library/recipe.h"
#include "base/array.h"
#include "base/elementary.h"

#include <math.h>
#include <string.h>

/* AdamW as in nanoGPT (Karpathy, 2022). */
#define ADAMW(rate)                   \
    .peak = {.learning_rate = (rate), \
             .beta1 = 0.9,            \
             .beta2 = 0.99,           \
             .epsilon = 1e-8,         \
             .weight_decay = 0.1,     \
             .momentum = 0.9,         \
             .matrix_decay = 0.1,     \
             .clip = 1},              \
    .warmup = 0.1, .max_warmup = 100

/* Muon for the matrices. A rare character, or one that only the held-out text has, gets small
   gradients that always lower its logit. Adam turns them into full steps, and the embedding, which
   is also the output layer, would grow without end. A large epsilon keeps such steps small, and a
   decay pulls the embedding back. */
#define MUON(rate, matrices)            \
    .peak = {.learning_rate = (rate),   \
             .matrix_rate = (matrices), \
             .beta1 = 0.9,              \
             .beta2 = 0.95,             \
             .epsilon = 1e-5,           \
             .weight_decay = 1,         \
             .momentum = 0.9,           \
             .matrix_decay = 0.1,       \
             .clip = 1},                \
    .warmup = 0.025, .max_warmup = 100, .windows_grow = true, .own_decay = true

/* Rates found by trial (docs/records.md). */
static const struct {
    const char *rung;
    Recipe recipe;
} recipes[] = {
    {"bigram", {ADAMW(0.03), .short_run_steps = 1000, .max_rate_factor = 6}},
    {"average", {ADAMW(0.02), .short_run_steps = 200, .max_rate_factor = 2}},
    {"head", {ADAMW(0.02), .short_run_steps = 200, .max_rate_factor = 2}},
    {"multihead", {ADAMW(0.02), .short_run_steps = 200, .max_rate_factor = 2}},
    {"gpt", {ADAMW(5e-3), .least_warmup = 30}},
    {"modern", {MUON(6e-3, 0.025), .cooldown = 0.6}},
    /* AdamW, which trains the convolutions, has a higher rate; it falls after the warm-up */
    {"conv", {MUON(0.015, 0.025), .cooldown = 1}},
    /* begins with the counted model, and has less to learn, most of it from far context */
    {"ngram", {MUON(7.5e-3, 0.0125), .cooldown = 1, .window_factor = 4}},
    /* any other rung: rates at which all rungs above learn, with AdamW or Muon */
    {"", {ADAMW(2e-3), .peak.matrix_rate = 0.01}},
};

Recipe recipe_of(const char *rung) {
    int i = 0;
    while (i < COUNT(recipes) - 1 && strcmp(recipes[i].rung, rung) != 0) i++;
    return recipes[i].recipe;
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
        recipe.short_run_steps = 0;
    } else if (strcmp(rung, "gpt") == 0) {
        peak->learning_rate *= factor_of_sizes(o);
    }
    return recipe;
}

double tril_rung_rate(const char *rung, const TrilOptions *options) {
    TrilOptions usual = *options;
    usual.learning_rate = NAN;
    const Recipe recipe = recipe_with(rung, &usual);
    return recipe_peak(&recipe, usual.steps);
}

bool tril_rung_has_long_windows(const char *rung) {
    return recipe_of(rung).window_factor > 1;
}

bool tril_windows_grow(const char *rung, double epochs, bool trained) {
    const double often = 8;
    return recipe_of(rung).windows_grow && !trained && epochs <= often;
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
    if (!recipe->windows_grow) return T;
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
    const double least = recipe->short_run_steps,
                 factor = steps < least ? fmin(recipe->max_rate_factor, least / steps) : 1;
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
