/* decide.c - fills unset options: by the text, and by a time limit and the speed of this machine.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/world.h"
#include "library/options.h"
#include "library/workers.h"

#include <math.h>
#include <string.h>

/* ---- by the text ---- */

/* With more epochs, the model memorizes the text. A short text needs more epochs to be learned at
 * all. Found by trial on 35,000 and on a million characters (docs/records.md). A trained model
 * needs fewer. */
double tril_epochs_that_help(double characters, int trained) {
    const double max = 40, min = 16, million = 1e6, share = trained ? 0.25 : 1;
    return round(share * fmin(max, fmax(min, min * sqrt(million / characters))));
}

/* A model memorizes a text sooner if it sees the text more often and if it has more weights.
 * Dropout works against that. If a text is seen only a few times, dropout only takes time. Found by
 * trial (docs/records.md). */
static double dropout_for(const Config *config, double epochs, double characters) {
    const double few = 5, each = 0.026, max = 0.3;
    double light = fmin(230e3, 1.3 * characters); /* weights that do not memorize */
    double often = log2(epochs / few);
    double heavy = log2((double)model_parameters(config) / light);
    double dropout = each * fmax(0, often) * fmax(0, heavy);
    return round(100 * fmin(dropout, max)) / 100;
}

/* The decay also keeps a model from memorizing a text. Before that is near, it only holds back what
 * is learned: so it is the full one times (epochs / 4)^2, but at least times 1000 V / N for V
 * characters in the vocabulary and N to train on. If N has fewer than a thousand for each, some are
 * rare, and only the decay keeps their vectors from growing without end (library/recipe.c). Found
 * by trial (docs/records.md). */
static double embedding_decay_for(double full, int V, double epochs, double characters) {
    const double several = 4, common = 1000;
    double often = fmin(1, epochs / several), rare = fmin(1, common * V / characters);
    return round(1000 * full * fmax(often * often, rare)) / 1000;
}

/* Fewer steps than the standard number have their evaluations in proportion. */
static void decide_steps(TrilOptions *o, double epochs_of_step) {
    double steps = TRIL_STANDARD_STEPS;
    if (o->epochs > 0) steps = fmax(1, o->epochs / epochs_of_step);
    if (steps < TRIL_STANDARD_STEPS)
        o->eval_every = fmax(1, floor(o->eval_every * steps / TRIL_STANDARD_STEPS));
    o->steps = floor(fmin(TRIL_STANDARD_STEPS, steps));
}

TrilStatus tril_options_decide(TrilOptions *options, const TrilText *text, int trained,
                               double *epochs, TrilError *error) {
    const double often = 8, gentle = 0.1; /* of the usual rate keeps more of what a model knows */
    Error err = {0};
    Config config;
    if (!given(text, "the text", &err) || !given(options, "the options", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilOptions decided = *options, *o = &decided;
    options_fill(o);
    if (!options_config(o, text->corpus.vocab.size, &config, &err) ||
        !teacher_fits(o->teacher, &text->corpus.vocab, config.T, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    const Recipe recipe = recipe_of(o->rung);
    double train = (double)text->corpus.train, epochs_of_step = o->batch * o->context / train;
    if (isnan(o->epochs)) o->epochs = isnan(o->steps) ? tril_epochs_that_help(train, trained) : 0;
    if (isnan(o->steps)) decide_steps(o, epochs_of_step);
    double seen = o->steps * epochs_of_step;
    if (isnan(o->dropout)) o->dropout = dropout_for(&config, seen, train);
    if (isnan(o->learning_rate) && trained) o->learning_rate = gentle * recipe.peak.learning_rate;
    if (isnan(o->embedding_decay) && recipe.own_decay)
        o->embedding_decay = embedding_decay_for(recipe.peak.weight_decay, config.V, seen, train);
    /* A trained model knows what is near. A text that is seen often may be memorized, and while
       windows are short no evaluation tells. */
    bool whole = recipe.grows && (trained || seen > often);
    if (strcmp(o->windows, "auto") == 0) o->windows = whole ? "whole" : "auto";
    o->precision = tril_precision(o->precision);
    o->threads = tril_threads(o->threads);
    if (epochs) *epochs = seen;
    *options = decided;
    return TRIL_OK;
}

bool teacher_fits(const TrilModel *teacher, const Vocab *vocab, int context, Error *err) {
    if (!teacher) return true;
    if (teacher->in_training) return fail(err, "the teacher is in training");
    if (!vocab_same(vocab_of(teacher), vocab))
        return fail(err, "the teacher knows other characters than the text has");
    return teacher->model.config.T >= context ||
           fail(err,
                "the teacher's context of %d characters is shorter than the %d of the model to "
                "train",
                teacher->model.config.T, context);
}

/* ---- by the time ---- */

/* Sizes from small to large. A training must see `worth` characters for a model of this size to
 * become better, in the same time, than one of the size before: found by trial up to width 128,
 * beyond by estimate (docs/records.md). */
typedef struct {
    int layers, width, context, batch;
    double worth;
} Candidate;
static const Candidate candidates[] = {
    {2, 32, 64, 8, 0},      {2, 64, 64, 8, 2.5e5},  {2, 64, 128, 8, 8e5},
    {2, 96, 128, 8, 1.2e6}, {3, 96, 256, 8, 2.2e6}, {4, 128, 256, 8, 3.3e6},
    {6, 192, 256, 8, 6e6},  {6, 256, 512, 8, 12e6}, {6, 384, 512, 16, 60e6},
};
enum { HEAD_SIZE = 32 };

/* A candidate with what was asked for. */
typedef struct {
    Config config;
    int batch; /* 0: unset, as sizes are */
} Sizes;

/* What the search depends on. */
typedef struct {
    const TrilOptions *options;
    const TrilText *text;
    double seconds, most; /* the time, and the most characters seen in it */
    Asking asking;
} Search;

static bool same_sizes(const Sizes *one, const Sizes *other) {
    const Config *a = &one->config, *b = &other->config;
    return a->T == b->T && a->L == b->L && a->NH == b->NH && a->C == b->C &&
           one->batch == other->batch;
}

/* Heads have 32 channels if that divides the width, but there are two: with one, `multihead` would
 * be `head`. */
static int heads_for(int width) {
    if (width % HEAD_SIZE != 0) return 1;
    return width > HEAD_SIZE ? width / HEAD_SIZE : 2;
}

/* The sizes with the candidate's where they are unset. Heads have an even number of channels. The
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
    return s;
}

TrilStatus tril_options_check(const TrilOptions *options, TrilError *error) {
    Error err = {0};
    Sizes unset = {.batch = 1};
    if (!options_sizes(options, 1, &unset.config, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    const Config smallest = filled(&unset, &candidates[0], SIZE_MAX).config;
    return model_check(&smallest, &err) ? TRIL_OK : refusal(TRIL_ARGUMENT, &err, error);
}

static bool run_options(RunOptions *run, const Sizes *s, const Search *search, Error *err) {
    if (!options_run(run, search->options, s->config.T, err)) return false;
    run->batch = s->batch;
    return true;
}

static bool fits(const Sizes *s, const Search *search, Error *err) {
    RunOptions run;
    const TrilModel *teacher = search->options->teacher;
    return run_options(&run, s, search, err) &&
           memory_fits(&s->config, &run, &search->text->corpus, teacher ? &teacher->model : NULL,
                       false, err);
}

/* Measures the speed in the first steps of a training, which is then discarded. They take only a
 * small share of the time. The fastest step counts: the first step and other programs only make
 * steps slower. */
static bool measure_speed(const Sizes *s, Search *search, double *speed, Error *err) {
    enum { STEPS = 5 };
    const double share = 0.02;
    RunOptions run;
    Recipe recipe = recipe_of(s->config.model);
    Model model = {0};
    Workers workers = {0};
    const TrilModel *teacher = search->options->teacher;
    bool ok = run_options(&run, s, search, err) && model_build(&model, &s->config, 0, err) &&
              workers_open(&workers, &model, &run, &search->text->corpus, err) &&
              (!teacher || workers_teach(&workers, to_read(teacher), TEACHER_SHARE, err));
    double fastest = INFINITY, all = 0;
    for (int i = 0; ok && i < STEPS && all < share * search->seconds && !ask(&search->asking);
         i++) {
        Optimizer optimizer = recipe_step(&recipe, i, STEPS);
        double begun = clock_seconds();
        workers_step(&workers, (uint64_t)i, s->config.T, &optimizer);
        double took = clock_seconds() - begun;
        all += took;
        fastest = fmin(fastest, took);
    }
    *speed = (double)s->batch * s->config.T / fastest;
    workers_close(&workers);
    model_free(&model);
    return ok;
}

/* The relative work per character: the matrices and attention of each layer, then the head. */
static double work(const Config *c) {
    double C = c->C, layer = 12 * C + c->T;
    return C * (c->L * layer + c->V);
}

/* Is the larger size worth its time? Sets the reasons in `choice`. *speed is the speed of the
 * smaller one, and becomes its own; it has `slower` times the work. A text that is seen often
 * teaches a small model less each time, so a larger one is worth its time sooner, but the text must
 * be as long: found by trial, as above. */
static bool is_worth(const Sizes *larger, const Candidate *candidate, Search *search, double slower,
                     double *speed, TrilChoice *choice) {
    const double max_gain = 2; /* wider products are faster, but not by more */
    const double often = 16, sooner = 0.7;
    Error none;
    choice->layers = larger->config.L;
    choice->width = larger->config.C;
    choice->context = larger->config.T;
    choice->worth = candidate->worth;
    choice->limit = TRIL_LIMIT_TEXT;
    if (search->most < choice->worth) return false;
    choice->limit = TRIL_LIMIT_TIME;
    double seen = fmin(*speed * search->seconds, search->most);
    if (seen > often * (double)search->text->corpus.train) choice->worth *= sooner;
    if (*speed * max_gain / slower * search->seconds < choice->worth) return false;
    choice->limit = TRIL_LIMIT_MEMORY;
    if (!fits(larger, search, &none) || !measure_speed(larger, search, speed, &none)) return false;
    choice->limit = TRIL_LIMIT_TIME;
    if (*speed * search->seconds < choice->worth) return false;
    choice->limit = TRIL_LIMIT_NONE;
    return true;
}

/* A window is shorter than the text, and not longer than the teacher's context. */
static size_t longest_context(const Search *search) {
    size_t longest = search->text->corpus.train - 1;
    const TrilModel *teacher = search->options->teacher;
    if (teacher && (size_t)teacher->model.config.T < longest)
        longest = (size_t)teacher->model.config.T;
    return longest;
}

static bool choose(Sizes *sizes, Search *search, TrilChoice *choice, Error *err) {
    const size_t longest = longest_context(search);
    Sizes best = filled(sizes, &candidates[0], longest);
    *choice = (TrilChoice){.limit = TRIL_LIMIT_NONE};
    if (!fits(&best, search, err) || !measure_speed(&best, search, &choice->speed, err))
        return false;
    for (int i = 1; i < COUNT(candidates); i++) {
        Sizes larger = filled(sizes, &candidates[i], longest);
        if (same_sizes(&larger, &best)) continue;
        double slower = work(&larger.config) / work(&best.config), speed = choice->speed;
        if (!is_worth(&larger, &candidates[i], search, slower, &speed, choice)) break;
        best = larger;
        choice->speed = speed;
    }
    *sizes = best;
    return true;
}

TrilStatus tril_options_choose(TrilOptions *o, const TrilText *text, double seconds, TrilStop stop,
                               void *user, TrilChoice *choice, TrilError *error) {
    Error err = {0};
    Sizes s = {0};
    Search search = {o, text, seconds, INFINITY, {stop, user, false}};
    if (tril_options_check(o, error) != TRIL_OK) return TRIL_ARGUMENT;
    if (!given(text, "the text", &err) || !given(choice, "the place for the choice", &err) ||
        !options_sizes(o, text->corpus.vocab.size, &s.config, &err) ||
        !teacher_fits(o->teacher, &text->corpus.vocab, s.config.T, &err) ||
        (!(seconds > 0) && !fail(&err, "the seconds must be positive, not %g", seconds)))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (text->corpus.train <= (size_t)(s.config.T > 0 ? s.config.T : 1)) {
        fail(&err, "the text: too short for a context of %d", s.config.T);
        return refusal(TRIL_TEXT, &err, error);
    }
    if (!isnan(o->batch)) s.batch = (int)o->batch;
    if (o->epochs > 0) search.most = o->epochs * (double)text->corpus.train;
    s.config.dropout = 0;
    if (!choose(&s, &search, choice, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    o->layers = s.config.L;
    o->heads = s.config.NH;
    o->width = s.config.C;
    o->context = s.config.T;
    o->batch = s.batch;
    return TRIL_OK;
}

/* ---- memory ---- */

static double sum_of(const Memory *m) {
    return (double)m->weights + (double)m->optimizer + (double)m->messages +
           (double)m->activations + (double)m->threads;
}

bool memory_fits(const Config *config, const RunOptions *run, const Corpus *corpus,
                 const Model *teacher, bool resumed, Error *err) {
    const double GiB = 1073741824;
    RunOptions teaching = *run;
    Memory m, beside = {0};
    teaching.training = teaching.shared = false;
    if (!run_estimate(config, run, &m, err)) return false;
    if (teacher && !run_estimate(&teacher->config, &teaching, &beside, err)) return false;
    double text = (double)corpus->length * sizeof *corpus->ids;
    double all = sum_of(&m) + sum_of(&beside) + text;
    if (resumed) all += 2 * (double)m.optimizer; /* the state's file, and what is read from it */
    double installed = (double)memory_installed() / world_beside();
    if (all <= installed) return true;
    fail(err,
         "%s: would take %.1f GiB of memory, and this machine has %.1f%s; "
         "smaller sizes or a smaller batch take less",
         config->model, all / GiB, installed / GiB,
         world_beside() > 1 ? " for each of its processes" : "");
    err->no_memory = true;
    return false;
}

TrilMemory memory_from(const Memory *m) {
    return (TrilMemory){.weights = (double)m->weights,
                        .optimizer = (double)m->optimizer,
                        .messages = (double)m->messages,
                        .activations = (double)m->activations,
                        .threads = (double)m->threads};
}

TrilStatus tril_estimate(const TrilOptions *options, int vocabulary, TrilEstimate *estimate,
                         TrilError *error) {
    Error err = {0};
    Config config;
    RunOptions run;
    Memory memory;
    if (!given(estimate, "the place for the estimate", &err) ||
        !given(options, "the options", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilOptions filled = *options;
    options_fill(&filled);
    if (!options_config(&filled, vocabulary, &config, &err) ||
        !options_run(&run, &filled, config.T, &err) || !run_estimate(&config, &run, &memory, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *estimate = (TrilEstimate){.parameters = model_parameters(&config),
                               .bytes = sum_of(&memory),
                               .memory = memory_from(&memory)};
    return TRIL_OK;
}

TrilStatus tril_training_fits(const TrilOptions *options, const TrilText *text, int resumed,
                              TrilError *error) {
    Error err = {0};
    Config config;
    RunOptions run;
    if (!given(text, "the text", &err) || !given(options, "the options", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilOptions filled = *options;
    options_fill(&filled);
    if (!options_config(&filled, text->corpus.vocab.size, &config, &err) ||
        !options_run(&run, &filled, config.T, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    const TrilModel *teacher = options->teacher;
    return memory_fits(&config, &run, &text->corpus, teacher ? &teacher->model : NULL, resumed,
                       &err)
               ? TRIL_OK
               : refusal(TRIL_ARGUMENT, &err, error);
}
