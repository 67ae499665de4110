/* decide.c - fills unset options: by the text, or by a time limit and this machine's speed. */
#include "base/array.h"
#include "base/memory.h"
#include "base/world.h"
#include "library/handles.h"
#include "model/generation.h"

#include <math.h>
#include <string.h>

/* ---- defaults ---- */

/* With more epochs than these, the model memorizes the text. A short text needs more epochs to be
 * learned at all, and a trained model fewer. Found by trial on 35,000 and on a million characters
 * (docs/records.md). */
double tril_epochs_that_help(double characters, bool trained) {
    const double max = 40, min = 16, million = 1e6, share = trained ? 0.25 : 1;
    return round(share * fmin(max, fmax(min, min * sqrt(million / characters))));
}

/* Returns the dropout. A model memorizes a text sooner if it sees the text more often and if it has
 * more weights, and dropout works against that. If a text is seen only a few times, or if AdamW,
 * which learns more slowly than Muon, trains all weights, dropout only costs time. Found by trial
 * (docs/records.md). */
static double dropout_for(const Recipe *recipe, const Config *config, double epochs,
                          double characters) {
    const double few = 5, each = 0.026, max = 0.3;
    double light = fmin(230e3, 1.3 * characters); /* weights that do not memorize */
    double often = log2(epochs / few);
    double heavy = log2(model_parameters(config) / light);
    double dropout = each * fmax(0, often) * fmax(0, heavy);
    return recipe->peak.matrix_rate > 0 ? round(100 * fmin(dropout, max)) / 100 : 0;
}

/* Returns the factor, at least 1, that lengthens an unset context and shrinks an unset batch. It
 * starts at the recipe's and is halved until every process has a window, and the text holds 100
 * windows. It is 1 if most characters are rare: a step then has to see many places of the text.
 * Found by trial (docs/records.md). */
static double longer_windows(const TrilOptions *o, const TrilText *text, double context,
                             double batch) {
    const double few = 100, rare = 200, train = (double)text->trained_on;
    double most = train / few;
    double longer = o->rung ? fmax(1, recipe_of(o->rung).window_factor) : 1;
    if (!isnan(o->batch)) return 1;
    if (train < rare * text->vocab.size) return 1;
    if (!isnan(o->context)) longer = fmin(longer, o->context / context), most = o->context;
    while (longer > 1 && (longer * context > most || batch / longer < world_size())) longer /= 2;
    return fmax(1, longer);
}

/* Returns the key-value heads for a context that is `longer` times as long; NaN: as many as heads.
 * Generation reads all keys and values for each character, so there are as many times fewer heads
 * of them. Found by trial (docs/records.md). */
static double kv_heads_for(double heads, double longer) {
    return longer > 1 && fmod(heads, longer) == 0 ? heads / longer : NAN;
}

/* Fills an unset context, key-value heads with it, and batch, from usual ones. Every process has a
 * window. The context is at most `longest`. `text` may be NULL. */
static void fill_windows(TrilOptions *o, double context, double batch, double longest,
                         const TrilText *text) {
    const double longer = text ? longer_windows(o, text, context, batch) : 1;
    if (isnan(o->context)) {
        for (o->context = longer * context; o->context > 1 && o->context > longest;)
            o->context /= 2;
        if (isnan(o->kv_heads)) o->kv_heads = kv_heads_for(o->heads, longer);
    }
    if (isnan(o->batch)) o->batch = fmax(ceil(batch / longer), world_size());
}

/* Returns the steps between evaluations: a tenth of all, or fewer, down to a fortieth, if those
 * show the text several times, because its best weights may come early. More if an evaluation would
 * read far more characters than the steps between two. */
static double evaluation_interval(double steps, const TrilText *text, double epochs_of_step) {
    const double several = 4, most = 4 * TRIL_EVALUATIONS, far = 10,
                 train = (double)text->trained_on,
                 held_out = ((double)text->characters - train) / train;
    const double usual = fmin(steps / TRIL_EVALUATIONS, several / epochs_of_step);
    return fmax(1, floor(fmax(fmax(usual, steps / most), held_out / far / epochs_of_step)));
}

TrilStatus tril_options_decide(TrilOptions *options, const TrilText *text, bool trained,
                               double *epochs, Error *err) {
    const double gentle = 1.0 / 3; /* not less: a short text has few steps to learn in */
    Config config;
    if (!text || !options || !err) return null_argument(err);
    TrilOptions decided = *options, *o = &decided;
    const TrilOptions usual = tril_options();
    if (isnan(o->heads)) o->heads = usual.heads;
    fill_windows(o, usual.context, usual.batch, INFINITY, text);
    options_fill(o);
    const Vocab *vocab = &text->vocab;
    if (!options_config(o, vocab->size, &config, err)) return err->status;
    const Recipe recipe = recipe_with(o->rung, o);
    double train = (double)text->trained_on, epochs_of_step = o->batch * o->context / train;
    if (isnan(o->epochs)) o->epochs = isnan(o->steps) ? tril_epochs_that_help(train, trained) : 0;
    if (isnan(o->steps)) {
        o->steps = o->epochs > 0 ? fmax(1, o->epochs / epochs_of_step) : TRIL_STANDARD_STEPS;
        o->steps = floor(fmin(TRIL_STANDARD_STEPS, o->steps));
    }
    if (isnan(o->eval_every)) o->eval_every = evaluation_interval(o->steps, text, epochs_of_step);
    double seen = o->steps * epochs_of_step;
    if (isnan(o->dropout)) o->dropout = dropout_for(&recipe, &config, seen, train);
    if (isnan(o->learning_rate) && trained) o->learning_rate = gentle * recipe.peak.learning_rate;
    o->precision = tril_precision(o->precision);
    o->threads = tril_threads(o->threads);
    if (epochs) *epochs = seen;
    *options = decided;
    return TRIL_OK;
}

/* ---- the search under a time limit ---- */

/* Sizes from small to large. After `worth` characters, a model of this size is better than one of
 * the size before that trained for the same time; `longer` is for rungs with longer windows. Found
 * by trial up to width 128, `longer` only there; estimated beyond (docs/records.md). */
typedef struct {
    int layers, width, context, batch;
    double worth, longer;
} Candidate;
static const Candidate candidates[] = {
    {2, 32, 64, 8, 0, 0},          {2, 64, 64, 8, 2.5e5, 2.5e5},  {2, 64, 128, 8, 8e5, 8e5},
    {2, 96, 128, 8, 1.2e6, 1.2e6}, {3, 96, 256, 8, 2.2e6, 2.2e6}, {4, 128, 256, 8, 3.3e6, 1.3e6},
    {6, 192, 256, 8, 6e6, 6e6},    {6, 256, 512, 8, 12e6, 12e6},  {6, 384, 512, 16, 60e6, 60e6},
};

/* Returns the sizes, with the candidate's for unset ones. Heads have an even number of channels: 32
 * if that divides the width and leaves at least two heads, because with one, `multihead` would be
 * `head`; fewer if the given key-value heads need more heads. The context is at most `longest`.
 * `text` may be NULL. */
static TrilOptions filled(const TrilOptions *sizes, const Candidate *candidate, double longest,
                          const TrilText *text) {
    const double head = 32; /* channels */
    TrilOptions o = *sizes;
    if (isnan(o.layers)) o.layers = candidate->layers;
    if (isnan(o.heads)) {
        const double width = isnan(o.width) ? candidate->width : o.width;
        o.heads = fmod(width, head) == 0 ? fmax(2, width / head) : 1;
        if (!isnan(o.kv_heads)) o.heads = ceil(o.heads / o.kv_heads) * o.kv_heads;
    }
    if (isnan(o.width)) o.width = ceil(candidate->width / (2 * o.heads)) * 2 * o.heads;
    fill_windows(&o, candidate->context, candidate->batch, longest, text);
    return o;
}

static bool same_sizes(const TrilOptions *a, const TrilOptions *b) {
    return a->context == b->context && a->layers == b->layers && a->heads == b->heads &&
           a->width == b->width && a->batch == b->batch;
}

TrilStatus tril_options_check(const TrilOptions *options, Error *err) {
    Config config;
    if (!options || !err) return null_argument(err);
    const TrilOptions smallest = filled(options, &candidates[0], INFINITY, NULL);
    const bool ok = options_in_range(options, err) && options_config(&smallest, 1, &config, err);
    return result(ok, err);
}

/* The inputs of the search. */
typedef struct {
    const TrilText *text;
    double seconds, most; /* the time, and the most characters seen in it */
    int steps;            /* the most to measure */
} Search;

/* Takes steps for about a share of the time, but at least two and at most `most`. Returns the mean
 * time of all but the first, which is slow. */
static double time_steps(Batches *batches, const Recipe *recipe, int window, int most,
                         const Search *search) {
    const double share = 0.005, begun = world_seconds();
    double first = 0, all = 0;
    int i = 0;
    while (i < 2 || (i < most && all < share * search->seconds)) {
        Optimizer optimizer = recipe_step(recipe, i, most);
        batches_step(batches, (uint64_t)i, window, &optimizer);
        all = world_seconds() - begun;
        if (i++ == 0) first = all;
    }
    return (all - first) / (i - 1);
}

/* Measures an opened run: its steps and, if a whole batch fits, short windows and an evaluation. */
static bool time_run(Batches *batches, const Recipe *recipe, bool whole, const Search *search,
                     double *step, TrilChoice *pace, Error *err) {
    enum { FEW = 2 };
    const int most = whole ? search->steps : FEW;
    const double share = 0.002; /* of the time, for an evaluation of as many characters */
    const int T = batches->options.length, shortest = recipe_window(recipe, T, 0, most);
    double read = (double)batches->options.batch * T, loss;
    StopCheck never = {0};
    *step = time_steps(batches, recipe, T, most, search);
    pace->speed = read / *step;
    if (!whole || !(*step <= search->seconds / TRIL_LEAST_STEPS)) return true;
    if (shortest < T)
        pace->slowdown = fmax(1, *step / time_steps(batches, recipe, shortest, most, search));
    read =
        fmin(fmax(read, share * search->seconds * pace->speed), (double)search->text->trained_on);
    const double begun = world_seconds();
    if (!batches_evaluate(batches, true, (size_t)read, &never, &loss, err)) return false;
    pace->evaluating = read / (world_seconds() - begun);
    return true;
}

/* Measures the speed in the first steps of a training run, which is then discarded. They take only
 * a small share of the time: the batch grows to its size only as long as a step takes no more than
 * the time allows. Fails for sizes that do not fit. */
static bool measure_speed(const TrilOptions *o, const Search *search, TrilChoice *pace,
                          Error *err) {
    enum { COUNTED = 1 << 16 }; /* of the text, for a rung that counts, unless that is set */
    const double longest = search->seconds / TRIL_LEAST_STEPS;
    const Corpus *corpus = search->text;
    const Recipe recipe = recipe_with(o->rung, o);
    Config config;
    Model model = {0};
    Batches batches = {0};
    *pace = (TrilChoice){.slowdown = 1, .evaluating = INFINITY};
    if (!options_config(o, corpus->vocab.size, &config, err)) return false;
    RunOptions run = options_run(o);
    const size_t counted = min_size(corpus_counted(corpus), corpus->counted ? SIZE_MAX : COUNTED);
    bool ok = model_lay_out(&model, &config, err) && model_allocate(&model, err) &&
              model_count(&model, corpus->ids, counted, true, err);
    /* not random: with many characters that would take longer than a step */
    for (size_t i = 0; ok && i < model.weights_size; i++)
        model.weights[i] = 0.01f * (float)((int)(i % 13) - 6);
    ok = world_agree(ok, err);
    const int batch = run.batch;
    run.batch = min_int(batch, world_size());
    for (bool more = ok; more;) {
        double step = 0;
        ok = batches_open(&batches, &model, &run, corpus, err) &&
             time_run(&batches, &recipe, run.batch == batch, search, &step, pace, err);
        batches_close(&batches);
        more = ok && run.batch < batch && step <= longest;
        if (more) run.batch = (int)fmin(batch, run.batch * fmax(2, longest / step));
    }
    model_free(&model);
    return ok;
}

/* Returns the relative work per character: matrices, attention, and the output layer. */
static double work(const TrilOptions *o, const Search *search) {
    double layer = 12 * o->width + o->context;
    return o->width * (o->layers * layer + search->text->vocab.size);
}

/* Returns why a larger size is not worth its time, if it is not. It has `slower` times the work of
 * the smaller one, and pays after *worth characters: with many passes over a text, a small model
 * learns less from each, so a larger size pays sooner; but the text must be as long. *pace is that
 * of the smaller size, and becomes that of the larger one. Found by trial, as above. */
static TrilLimit limit_of(const TrilOptions *larger, double slower, double *worth,
                          const Search *search, TrilChoice *pace) {
    const double max_gain = 2; /* wider products are faster, but not by more */
    const double often = 16, sooner = 0.7;
    Error none;
    if (search->most < *worth) return TRIL_LIMIT_TEXT;
    const double seen = fmin(pace->speed * search->seconds, search->most);
    if (seen > often * (double)search->text->trained_on) *worth *= sooner;
    if (pace->speed * max_gain / slower * search->seconds < *worth) return TRIL_LIMIT_TIME;
    if (!measure_speed(larger, search, pace, &none)) return TRIL_LIMIT_MEMORY;
    return pace->speed * search->seconds < *worth ? TRIL_LIMIT_TIME : TRIL_LIMIT_NONE;
}

static bool choose(TrilOptions *o, Search *search, TrilChoice *choice, Error *err) {
    enum { FEW = 5, MANY = 200 };
    /* a window is shorter than the text */
    const TrilText *text = search->text;
    double longest = (double)text->trained_on - 1;
    TrilOptions best = filled(o, &candidates[0], longest, text);
    TrilChoice pace;
    const TrilOptions largest = filled(o, &candidates[COUNT(candidates) - 1], longest, text);
    search->steps = same_sizes(&best, &largest) ? MANY : FEW;
    *choice = (TrilChoice){.limit = TRIL_LIMIT_NONE};
    if (!measure_speed(&best, search, &pace, err)) return false;
    for (const Candidate *c = candidates + 1; c < candidates + COUNT(candidates); c++) {
        const TrilOptions larger = filled(o, c, longest, text);
        const double slower = work(&larger, search) / work(&best, search);
        TrilChoice of_larger = pace;
        if (same_sizes(&larger, &best)) continue;
        choice->larger = larger;
        choice->break_even_characters =
            tril_rung_has_long_windows(larger.rung) ? c->longer : c->worth;
        choice->limit =
            limit_of(&larger, slower, &choice->break_even_characters, search, &of_larger);
        if (choice->limit != TRIL_LIMIT_NONE) break;
        best = larger;
        pace = of_larger;
    }
    choice->speed = pace.speed;
    choice->slowdown = pace.slowdown;
    choice->evaluating = pace.evaluating;
    *o = best;
    return true;
}

TrilStatus tril_options_choose(TrilOptions *o, const TrilText *text, bool trained, double seconds,
                               TrilChoice *choice, Error *err) {
    Search search = {.text = text, .seconds = seconds, .most = INFINITY};
    if (!text || !choice || !err) return null_argument(err);
    TrilStatus status = tril_options_check(o, err);
    if (status != TRIL_OK) return status;
    if (!(seconds > 0) && !fail(err, "the number of seconds, %g, is not positive", seconds))
        return err->status;
    if (!text_suits(text, &text->vocab, o->context, err)) return err->status;
    if (isnan(o->epochs)) o->epochs = tril_epochs_that_help((double)text->trained_on, trained);
    if (o->epochs > 0) search.most = o->epochs * (double)text->trained_on;
    return result(choose(o, &search, choice, err), err);
}

double tril_steps_taken(const TrilOptions *options, double slowdown, double time) {
    enum { PARTS = 200 };
    const Recipe recipe = recipe_with(options->rung, options);
    const int T = (int)options->context, shortest = recipe_window(&recipe, T, 0, PARTS);
    double sum[PARTS + 1] = {0};
    int i = 0;
    for (int j = 0; j < PARTS; j++) {
        const double longer = recipe_window(&recipe, T, j, PARTS) - shortest;
        sum[j + 1] = sum[j] + 1 + (longer > 0 ? (slowdown - 1) * longer / (T - shortest) : 0);
    }
    while (i < PARTS - 1 && sum[i + 1] < time * sum[PARTS]) i++;
    return (i + (time * sum[PARTS] - sum[i]) / (sum[i + 1] - sum[i])) / PARTS;
}

/* ---- sizes ---- */

TrilStatus tril_estimate(const TrilOptions *options, int vocabulary, size_t *parameters,
                         double *bytes, Error *err) {
    Config config;
    if (!options || !parameters || !bytes || !err) return null_argument(err);
    TrilOptions filled_in = *options;
    options_fill(&filled_in);
    if (!options_config(&filled_in, vocabulary, &config, err)) return err->status;
    const RunOptions run = options_run(&filled_in);
    RunMemory memory;
    if (!run_estimate(&config, &run, &memory, err)) return err->status;
    *bytes = memory.all;
    *parameters = (size_t)model_parameters(&config);
    return TRIL_OK;
}
