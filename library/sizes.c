#include "library/sizes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/world.h"
#include "library/recipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From small to large. A training must see `worth` characters for a model of this size to become
 * better, in the same time, than one of the size before: found by trial up to width 128, beyond by
 * estimate (docs/records.md). */
typedef struct {
    int layers, width, context, batch;
    double worth;
} Candidate;
static const Candidate candidates[] = {
    {2, 32, 64, 8, 0},      {2, 64, 64, 8, 2.5e5},  {2, 64, 128, 8, 8e5},
    {2, 96, 128, 8, 1.2e6}, {3, 96, 256, 8, 2.2e6}, {4, 128, 256, 8, 3.3e6},
    {6, 192, 256, 8, 6e6},  {6, 256, 512, 8, 12e6}, {6, 384, 512, 16, 60e6},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates, HEAD_SIZE = 32 };

static bool same_sizes(const Sizes *one, const Sizes *other) {
    const Config *a = &one->config, *b = &other->config;
    return a->T == b->T && a->L == b->L && a->NH == b->NH && a->C == b->C && a->NKV == b->NKV &&
           a->H == b->H && one->batch == other->batch;
}

static bool are_open(const Sizes *sizes) {
    const Config *c = &sizes->config;
    return c->L == 0 || c->NH == 0 || c->C == 0 || c->T == 0 || sizes->batch == 0;
}

/* Heads have 32 channels if that divides the width, but there are two: with one, `multihead` would
 * be `head`. */
static int heads_for(int width) {
    if (width % HEAD_SIZE != 0) return 1;
    return width > HEAD_SIZE ? width / HEAD_SIZE : 2;
}

/* The sizes with the candidate's where they are open. Heads have an even number of channels. The
 * context is at most `longest`. */
static Sizes filled(const Sizes *sizes, const Candidate *candidate, size_t longest) {
    Sizes s = *sizes;
    Config *c = &s.config;
    if (c->L == 0) c->L = candidate->layers;
    if (c->C == 0) {
        int step = c->NH > 0 ? 2 * c->NH : HEAD_SIZE;
        c->C = (candidate->width + step - 1) / step * step;
    }
    if (c->NH == 0) c->NH = heads_for(c->C);
    if (c->T == 0) {
        c->T = candidate->context;
        while (c->T > 1 && (size_t)c->T > longest) c->T /= 2;
    }
    if (s.batch == 0) s.batch = candidate->batch > world_size() ? candidate->batch : world_size();
    if (c->dropout < 0) c->dropout = 0;
    return s;
}

Sizes sizes_smallest(const Sizes *sizes) {
    return filled(sizes, &candidates[0], SIZE_MAX);
}

static RunOptions options_for(const Sizes *sizes, const RunOptions *options) {
    RunOptions all = *options;
    all.batch = sizes->batch;
    all.length = sizes->config.T;
    return all;
}

static double sum(const Memory *m) {
    return (double)m->weights + (double)m->optimizer + (double)m->messages +
           (double)m->activations + (double)m->threads;
}

bool sizes_fit(const Sizes *sizes, const RunOptions *options, const Corpus *corpus,
               const Model *teacher, bool resumed, Error *err) {
    const double GiB = 1073741824;
    RunOptions all_options = options_for(sizes, options), teaching = all_options;
    Memory m, beside = {0};
    teaching.training = teaching.shared = false;
    if (!run_estimate(&sizes->config, &all_options, &m, err)) return false;
    if (teacher && !run_estimate(&teacher->config, &teaching, &beside, err)) return false;
    double text = (double)corpus->length * sizeof *corpus->ids;
    double all = sum(&m) + sum(&beside) + text;
    if (resumed) all += 2 * (double)m.optimizer; /* the state's file, and what is read from it */
    double installed = (double)memory_installed() / world_beside();
    return all <= installed ||
           fail(err,
                "%s: would take %.1f GiB of memory, and this machine has %.1f%s; "
                "smaller sizes or a smaller batch take less",
                sizes->config.model, all / GiB, installed / GiB,
                world_beside() > 1 ? " for each of its processes" : "");
}

static bool is_stopped(const Stop *stop) {
    return stop->asked && stop->asked(stop->user);
}

/* Measures the speed in the first steps of a training, which is then discarded. They take only a
 * small share of the time. The fastest step counts: the first step and other programs only make
 * steps slower. */
static bool measure_speed(const Sizes *sizes, const SizeSearch *search, double *speed, Error *err) {
    enum { STEPS = 5 };
    const double share = 0.02;
    RunOptions options = options_for(sizes, search->options);
    Recipe recipe = recipe_of(sizes->config.model);
    Model model = {0};
    Workers workers = {0};
    bool ok = model_build(&model, &sizes->config, 0, err) &&
              workers_open(&workers, &model, &options, search->corpus, err) &&
              (!search->teacher || workers_teach(&workers, search->teacher, TEACHER_SHARE, err));
    double fastest = INFINITY, all = 0;
    for (int i = 0; ok && i < STEPS && all < share * search->seconds && !is_stopped(&search->stop);
         i++) {
        Optimizer optimizer = recipe_step(&recipe, i, STEPS);
        double begun = clock_seconds();
        workers_step(&workers, (uint64_t)i, sizes->config.T, &optimizer);
        double took = clock_seconds() - begun;
        all += took;
        fastest = fmin(fastest, took);
    }
    *speed = (double)sizes->batch * sizes->config.T / fastest;
    workers_close(&workers);
    model_free(&model);
    return ok;
}

/* The relative work per character: the matrices and attention of each layer, then the head. */
static double work(const Config *c) {
    double C = c->C, layer = 12 * C + c->T;
    return C * (c->L * layer + c->V);
}

static bool fit(const Sizes *sizes, const SizeSearch *search, Error *err) {
    return sizes_fit(sizes, search->options, search->corpus, search->teacher, false, err);
}

/* Is the larger size worth its time? Sets the reasons in `choice`. *speed is the speed of the
 * smaller one, and becomes its own; it has `slower` times the work. A text that is seen often
 * teaches a small model less each time, so a larger one is worth its time sooner, but the text must
 * be as long: found by trial, as above. */
static bool is_worth(const Sizes *larger, const Candidate *candidate, const SizeSearch *search,
                     double slower, double *speed, Choice *choice) {
    const double max_gain = 2; /* wider products are faster, but not by more */
    const double often = 16, sooner = 0.7;
    Error none;
    choice->layers = larger->config.L;
    choice->width = larger->config.C;
    choice->context = larger->config.T;
    choice->worth = candidate->worth;
    choice->limit = LIMIT_TEXT;
    if (search->max_characters < choice->worth) return false;
    choice->limit = LIMIT_TIME;
    double seen = fmin(*speed * search->seconds, search->max_characters);
    if (seen > often * (double)search->corpus->train) choice->worth *= sooner;
    if (*speed * max_gain / slower * search->seconds < choice->worth) return false;
    choice->limit = LIMIT_MEMORY;
    if (!fit(larger, search, &none) || !measure_speed(larger, search, speed, &none)) return false;
    choice->limit = LIMIT_TIME;
    if (*speed * search->seconds < choice->worth) return false;
    choice->limit = LIMIT_NONE;
    return true;
}

/* A window is shorter than the text, and not longer than the teacher's context. */
static size_t longest_context(const SizeSearch *search) {
    size_t longest = search->corpus->train - 1;
    if (search->teacher && (size_t)search->teacher->config.T < longest)
        longest = (size_t)search->teacher->config.T;
    return longest;
}

bool sizes_choose(Sizes *sizes, const SizeSearch *search, Choice *choice, Error *err) {
    const size_t longest = longest_context(search);
    Sizes best = filled(sizes, &candidates[0], longest);
    *choice = (Choice){.limit = LIMIT_NONE};
    if (!fit(&best, search, err) || !measure_speed(&best, search, &choice->speed, err))
        return false;
    for (int i = 1; i < CANDIDATES && are_open(sizes); i++) {
        Sizes larger = filled(sizes, &candidates[i], longest);
        if (same_sizes(&larger, &best)) continue;
        double slower = work(&larger.config) / work(&best.config), speed = choice->speed;
        if (!is_worth(&larger, &candidates[i], search, slower, &speed, choice)) break;
        best = larger;
        choice->speed = speed;
    }
    best.config.dropout = sizes->config.dropout;
    *sizes = best;
    return true;
}
