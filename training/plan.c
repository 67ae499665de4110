#include "training/plan.h"
#include "base/clock.h"
#include "base/world.h"
#include "training/crew.h"
#include "training/interruption.h"
#include "training/recipe.h"
#include "training/rung.h"

#include <math.h>
#include <stdio.h>

/* From small to large, with the characters a training must see to be better by it than by the one
 * before: found by trial on Tiny Shakespeare. */
typedef struct {
    int layers, width, context, batch;
    double worth;
} Size;
static const Size sizes[] = {
    {2, 64, 64, 16, 0},     {3, 128, 64, 16, 1e5},  {4, 128, 128, 16, 2e6},
    {6, 192, 128, 16, 6e6}, {6, 256, 512, 8, 12e6}, {6, 384, 512, 16, 60e6},
};
enum { SIZES = sizeof sizes / sizeof *sizes, HEAD = 32 };

bool plan_is_open(const Settings *s) {
    const Config *z = &s->sizes;
    return z->L == 0 || z->NH == 0 || z->C == 0 || z->T == 0 || s->batch == 0;
}

/* The settings with what they leave open as `size` has it: heads of 32 channels where that divides
 * the width, of an even number at least; a context shorter than the text. */
static Settings filled(const Settings *settings, const Size *size, size_t text) {
    Settings s = *settings;
    Config *z = &s.sizes;
    if (z->L == 0) z->L = size->layers;
    if (z->C == 0) {
        int step = z->NH > 0 ? 2 * z->NH : HEAD;
        z->C = (size->width + step - 1) / step * step;
    }
    if (z->NH == 0) z->NH = z->C % HEAD == 0 ? z->C / HEAD : 1;
    if (z->T == 0) {
        z->T = size->context;
        while (z->T > 1 && (size_t)z->T >= text) z->T /= 2;
    }
    if (s.batch == 0) s.batch = size->batch > world_size() ? size->batch : world_size();
    if (z->dropout < 0) z->dropout = 0;
    return s;
}

Settings plan_least(const Settings *settings) {
    return filled(settings, &sizes[0], SIZE_MAX);
}

static Config config_of(const Settings *s, const Corpus *corpus, const char *name) {
    Config config = s->sizes;
    config.V = corpus->vocab.size;
    if (config.dropout < 0) config.dropout = 0;
    snprintf(config.model, sizeof config.model, "%s", name);
    return config;
}

static bool fits(const Settings *s, const Corpus *corpus, const char *name, Error *err) {
    Task task = {.settings = s, .corpus = corpus, .name = name};
    return check_memory(&task, false, err);
}

/* Takes the first steps of a training that is then thrown away, few enough not to cost the time
 * that they are to help use: the characters a second of the fastest, since the first one, and other
 * programs, can only be slower. */
static bool measure_speed(const Settings *s, const Corpus *corpus, const char *name, double seconds,
                          double *speed, Error *err) {
    enum { STEPS = 5 };
    const double cheap = 0.02;
    Config config = config_of(s, corpus, name);
    RunOptions options = {.batch = s->batch,
                          .length = s->sizes.T,
                          .training = true,
                          .threads = s->threads,
                          .precision = s->multiply_in};
    Recipe recipe = recipe_of(name);
    Model model = {0};
    Crew crew = {0};
    bool ok =
        model_build(&model, &config, 0, err) && crew_open(&crew, &model, &options, corpus, err);
    double fastest = INFINITY, all = 0;
    for (int i = 0; ok && i < STEPS && all < cheap * seconds && !interrupted(); i++) {
        Optimizer optimizer = recipe_step(&recipe, i, STEPS);
        double begun = clock_seconds();
        crew_step(&crew, (uint64_t)i, &optimizer);
        double took = clock_seconds() - begun;
        all += took;
        fastest = fmin(fastest, took);
    }
    *speed = (double)s->batch * s->sizes.T / fastest;
    crew_close(&crew);
    model_free(&model);
    return ok;
}

/* The work of a character, in proportion. */
static double work(const Settings *s, const Corpus *corpus) {
    double C = s->sizes.C, width = 12 * C + s->sizes.T; /* of a layer: its matrices, attention */
    return C * (s->sizes.L * width + corpus->vocab.size);
}

/* Of all sizes the largest that is worth it, and its speed. A training sees `most` characters, if
 * it has time for them. */
static bool choose_sizes(Settings *settings, const Corpus *corpus, const char *name, double seconds,
                         double most, double *speed, Error *err) {
    const double at_best = 2; /* wider products are faster, but not by more */
    Settings best = filled(settings, &sizes[0], corpus->train);
    if (!fits(&best, corpus, name, err) || !measure_speed(&best, corpus, name, seconds, speed, err))
        return false;
    for (int i = 1; i < SIZES && plan_is_open(settings); i++) {
        Settings larger = filled(settings, &sizes[i], corpus->train);
        double faster = *speed * at_best * work(&best, corpus) / work(&larger, corpus);
        Error none;
        if (fmin(faster * seconds, most) < sizes[i].worth || !fits(&larger, corpus, name, &none))
            break;
        if (!measure_speed(&larger, corpus, name, seconds, &faster, &none)) break;
        if (faster * seconds < sizes[i].worth) break;
        best = larger;
        *speed = faster;
    }
    best.sizes.dropout = settings->sizes.dropout;
    *settings = best;
    return true;
}

/* After more of them a text is rather learnt by heart. A short one needs more, to be learnt at all:
 * found by trial on 35,000 and on a million characters (RECORDS.md). A model that is there already
 * needs fewer. */
static double epochs_that_help(double characters, bool knows_something) {
    const double most = 40, least = 16, million = 1e6, share = knows_something ? 0.25 : 1;
    return round(share * fmin(most, fmax(least, least * sqrt(million / characters))));
}

/* The more often a text is seen, and the harder it is pressed, by more weights and more often, the
 * better it would be learnt by heart, and the more dropout helps to learn something else; where it
 * is seen but a few times, dropout only takes time. Found by trial (RECORDS.md). */
static double dropout_for(const Config *config, double epochs, size_t characters) {
    const double few = 5, light = 12, most = 0.3;
    double pressure = (double)model_parameters(config) * epochs / (double)characters;
    double dropout = fmin(0.1 * log2(epochs / few), 0.07 * log2(pressure / light));
    return round(100 * fmax(0, fmin(dropout, most))) / 100;
}

/* Steps that are open, and evaluations with them. */
static void fewer_steps(Settings *s, double epochs_of_step) {
    double fewer = fmax(1, s->epochs / epochs_of_step);
    if (fewer >= s->steps) return;
    s->eval_every = (int)fmax(1, (double)s->eval_every * fewer / s->steps);
    s->steps = (int)fewer;
}

bool plan_make(Settings *s, const Corpus *corpus, const char *name, double seconds, Plan *plan,
               Error *err) {
    double characters = (double)corpus->train;
    bool limited = s->time > 0 || s->steps_open;
    *plan = (Plan){.speed = 0};
    if (s->epochs < 0) s->epochs = limited ? epochs_that_help(characters, s->init) : 0;
    double most = s->epochs > 0 ? s->epochs * characters : INFINITY;
    if (s->time > 0) {
        if (!plan_is_open(s) && s->sizes.dropout >= 0) return true;
        if (!choose_sizes(s, corpus, name, seconds, most, &plan->speed, err)) return false;
        plan->epochs = fmin(plan->speed * seconds, most) / characters;
    } else {
        double epochs_of_step = (double)s->batch * s->sizes.T / characters;
        if (limited && s->epochs > 0) fewer_steps(s, epochs_of_step);
        plan->epochs = s->steps * epochs_of_step;
    }
    Config config = config_of(s, corpus, name);
    if (s->sizes.dropout < 0) s->sizes.dropout = dropout_for(&config, plan->epochs, corpus->train);
    return true;
}
