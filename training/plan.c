#include "training/plan.h"
#include "base/clock.h"
#include "base/memory.h"
#include "training/recipe.h"
#include "training/rung.h"

#include <math.h>
#include <stdio.h>

/* From small to large, with the characters a training must see to be better by it than by the one
 * before: found by trial on Tiny Shakespeare (RECORDS.md). Heads are of 32 channels. */
typedef struct {
    int layers, width, context, batch;
    double worth;
} Size;
static const Size sizes[] = {
    {2, 64, 64, 16, 0},     {3, 128, 64, 16, 1e5},   {4, 128, 128, 16, 2e6},
    {6, 192, 128, 16, 6e6}, {6, 256, 256, 16, 12e6}, {6, 384, 256, 32, 60e6},
};
enum { SIZES = sizeof sizes / sizeof *sizes, HEAD = 32 };

bool plan_is_open(const Settings *s) {
    const Config *z = &s->sizes;
    return z->L == 0 || z->NH == 0 || z->C == 0 || z->T == 0 || s->batch == 0;
}

/* The settings with what they leave open as `size` has it; the context is shorter than the text. */
static Settings filled(const Settings *settings, const Size *size, size_t text) {
    Settings s = *settings;
    Config *z = &s.sizes;
    if (z->L == 0) z->L = size->layers;
    if (z->C == 0) z->C = z->NH > 0 && size->width % z->NH != 0 ? HEAD * z->NH : size->width;
    if (z->NH == 0) z->NH = z->C % HEAD == 0 ? z->C / HEAD : 1;
    if (z->T == 0) {
        z->T = size->context;
        while (z->T > 1 && (size_t)z->T >= text) z->T /= 2;
    }
    if (s.batch == 0) s.batch = size->batch;
    if (z->dropout < 0) z->dropout = 0;
    return s;
}

Settings plan_least(const Settings *settings) {
    return filled(settings, &sizes[0], SIZE_MAX);
}

/* Takes the first steps of a training that is then thrown away: the characters a second of the
 * fastest, since other programs can only make them slower. */
static bool measure(const Settings *s, const Corpus *corpus, double *speed, Error *err) {
    enum { WARM = 1, STEPS = 4 };
    int B = s->batch, T = s->sizes.T;
    Config config = s->sizes;
    config.V = corpus->vocab.size;
    snprintf(config.model, sizeof config.model, "%s", s->model);
    RunOptions options = {.batch = B,
                          .length = T,
                          .training = true,
                          .threads = s->threads,
                          .precision = s->multiply_in};
    Recipe recipe = recipe_of(s->model, -1);
    Model model = {0};
    Run *run = NULL;
    int32_t *inputs = NULL, *targets = NULL;
    bool ok = model_build(&model, &config, 0, err) && run_open(&run, &model, &options, err) &&
              memory_alloc(&inputs, (size_t)B * (size_t)T, sizeof *inputs, "a batch", err) &&
              memory_alloc(&targets, (size_t)B * (size_t)T, sizeof *targets, "a batch", err);
    double fastest = INFINITY;
    for (int i = 0; ok && i < WARM + STEPS; i++) {
        Optimizer optimizer = recipe_step(&recipe, i, WARM + STEPS);
        double begun = clock_seconds();
        batch_shuffled(corpus->ids, corpus->train, B, T, 0, (uint64_t)i, inputs, targets);
        run_forward_training(run, inputs, B, T);
        run_backward(run, targets);
        run_update(run, &optimizer);
        double took = clock_seconds() - begun;
        if (i >= WARM && took < fastest) fastest = took;
    }
    *speed = (double)B * T / fastest;
    run_close(run);
    model_free(&model);
    memory_free(inputs);
    memory_free(targets);
    return ok;
}

/* More often than so, a text is rather learnt by heart. */
static double most_characters(const Corpus *corpus) {
    const double times = 40;
    return times * (double)corpus->train;
}

static bool fits(const Settings *s, const Corpus *corpus, Error *err) {
    Task task = {.settings = s, .corpus = corpus, .name = s->model};
    return check_memory(&task, false, err);
}

/* The work of a character, in proportion. */
static double work(const Settings *s, const Corpus *corpus) {
    double C = s->sizes.C, width = 12 * C + s->sizes.T; /* of a layer: its matrices, attention */
    return C * (s->sizes.L * width + corpus->vocab.size);
}

/* Of all sizes the largest that is worth it. */
static bool choose_sizes(Settings *settings, const Corpus *corpus, double seconds, double *speed,
                         Error *err) {
    const double at_best = 2; /* wider products are faster, but not by more */
    Settings best = filled(settings, &sizes[0], corpus->train);
    if (!fits(&best, corpus, err) || !measure(&best, corpus, speed, err)) return false;
    for (int i = 1; i < SIZES && plan_is_open(settings); i++) {
        Settings larger = filled(settings, &sizes[i], corpus->train);
        double faster = *speed * at_best * work(&best, corpus) / work(&larger, corpus);
        double learns = most_characters(corpus);
        Error none;
        if (fmin(faster * seconds, learns) < sizes[i].worth || !fits(&larger, corpus, &none)) break;
        if (!measure(&larger, corpus, &faster, err)) return false;
        if (faster * seconds < sizes[i].worth) break;
        best = larger;
        *speed = faster;
    }
    best.sizes.dropout = settings->sizes.dropout;
    *settings = best;
    return true;
}

/* The more often a text is seen, the better it would be learnt by heart. */
static double dropout_for(double times) {
    const double seldom = 8, most = 0.3;
    double dropout = 0.1 * log2(times / seldom) + 0.1;
    return dropout < 0 ? 0 : dropout > most ? most : round(20 * dropout) / 20;
}

bool plan_make(Settings *s, const Corpus *corpus, double seconds, Plan *plan, Error *err) {
    double learns = most_characters(corpus), sees;
    *plan = (Plan){.speed = 0};
    if (seconds > 0) {
        bool sized = !plan_is_open(s); /* by somebody who may know better than most_characters */
        if (sized && s->sizes.dropout >= 0) return true;
        if (!choose_sizes(s, corpus, seconds, &plan->speed, err)) return false;
        sees = plan->speed * seconds;
        if (sees > learns && !sized) {
            s->time *= learns / sees;
            sees = learns;
        }
    } else {
        double step = (double)s->batch * s->sizes.T;
        if (s->steps_open && s->steps * step > learns) s->steps = (int)fmax(1, learns / step);
        sees = s->steps * step;
    }
    plan->times = sees / (double)corpus->train;
    if (s->sizes.dropout < 0) s->sizes.dropout = dropout_for(plan->times);
    return true;
}
