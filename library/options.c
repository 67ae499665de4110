/* options.c - what a training is asked for in tril.h: options, sizes, and what they would take. */
#include "library/sizes.h"
#include "library/training.h"

#include <string.h>

enum { MAX_STEPS = 1000000000, MAX_EPOCHS = 1000000000, MAX_BATCH = 65536 };

TrilRecipe tril_rung_recipe(const char *rung) {
    const Recipe recipe = recipe_of(rung);
    const Optimizer *peak = &recipe.peak;
    return (TrilRecipe){.learning_rate = peak->learning_rate,
                        .weight_decay = recipe.own_decay ? peak->matrix_decay : peak->weight_decay,
                        .embedding_decay = recipe.own_decay ? peak->weight_decay : -1,
                        .cooldown = recipe.cooldown,
                        .grows = recipe.grows};
}

TrilOptions tril_options(void) {
    const Settings usual = settings_usual();
    return (TrilOptions){.epochs = usual.epochs,
                         .batch = usual.batch,
                         .dropout = usual.config.dropout,
                         .weight_decay = usual.weight_decay,
                         .embedding_decay = usual.embedding_decay,
                         .windows = "auto",
                         .held_out = usual.held_out,
                         .precision = "auto",
                         .seed = usual.seed};
}

const char *tril_precision(const char *name) {
    Error none;
    Precision precision;
    return name && settings_precision(name, &precision, &none) ? settings_precision_name(precision)
                                                               : NULL;
}

int tril_threads(int wanted) {
    Error none;
    int threads;
    threads_wanted(wanted, &threads, &none);
    return threads;
}

/* ---- options and settings ---- */

bool steps_in_range(int steps, int least, Error *err) {
    return in_range(steps, least, MAX_STEPS, "the number of steps", err);
}

/* The ranges are those of ./train. Below 0 some are open. */
static bool check_options(const TrilOptions *o, Error *err) {
    const double rate = 10, decay = 10, share = 0.99, margin = 1e-6, embedding = 100;
    return steps_in_range(o->steps, 0, err) &&
           (o->epochs < 0 || in_range(o->epochs, 0, MAX_EPOCHS, "the number of epochs", err)) &&
           in_range(o->batch, 1, MAX_BATCH, "the batch", err) &&
           (o->dropout < 0 || in_range(o->dropout, 0, share, "the dropout", err)) &&
           in_range(o->learning_rate, 0, rate, "the learning rate", err) &&
           (o->weight_decay < 0 || in_range(o->weight_decay, 0, decay, "the weight decay", err)) &&
           (o->embedding_decay < 0 ||
            in_range(o->embedding_decay, 0, embedding, "the decay of the embedding", err)) &&
           in_range(o->held_out, margin, 1 - margin, "the held-out share", err);
}

bool settings_from(Settings *s, RunOptions *run, const Config *config, const TrilOptions *o,
                   Error *err) {
    if (!given(o, "the options", err) || !given(o->precision, "the precision", err) ||
        !given(o->windows, "the name of the windows", err) || !check_options(o, err))
        return false;
    *s = (Settings){.config = *config,
                    .steps = o->steps,
                    .epochs = o->epochs < 0 ? -1 : o->epochs,
                    .batch = o->batch,
                    .learning_rate = o->learning_rate,
                    .weight_decay = o->weight_decay < 0 ? -1 : o->weight_decay,
                    .embedding_decay = o->embedding_decay < 0 ? -1 : o->embedding_decay,
                    .held_out = o->held_out,
                    .seed = o->seed};
    s->config.dropout = o->dropout < 0 ? -1 : o->dropout;
    *run = (RunOptions){
        .training = true, .batch = o->batch, .length = config->T, .seed = o->seed, .shared = true};
    if (!threads_wanted(o->threads, &run->threads, err) ||
        !settings_precision(o->precision, &s->precision, err) ||
        !settings_windows(o->windows, &s->windows, err))
        return false;
    run->precision = s->precision;
    return true;
}

TrilOptions options_from(const Settings *s, int threads, const TrilModel *teacher) {
    return (TrilOptions){.steps = s->steps,
                         .epochs = s->epochs,
                         .batch = s->batch,
                         .dropout = s->config.dropout,
                         .learning_rate = s->learning_rate,
                         .weight_decay = s->weight_decay,
                         .embedding_decay = s->embedding_decay,
                         .windows = settings_windows_name(s->windows),
                         .held_out = s->held_out,
                         .teacher = teacher,
                         .precision = settings_precision_name(s->precision),
                         .threads = threads,
                         .seed = s->seed};
}

bool teacher_fits(const TrilModel *teacher, const Vocab *vocab, int context, Error *err) {
    if (!teacher) return true;
    if (teacher->in_training) return fail(err, "the teacher is in training");
    if (!vocab_same(vocab_of(teacher), vocab))
        return fail(err, "the teacher knows other characters than the text has");
    return teacher->model.config.T >= context ||
           fail(
               err,
               "the teacher's context of %d characters is shorter than the %d of the model to train",
               teacher->model.config.T, context);
}

TrilStatus tril_options_decide(TrilOptions *decided, const TrilOptions *options,
                               const TrilSizes *sizes, const TrilText *text, int trained,
                               double *epochs, TrilError *error) {
    Error err = {0};
    Config config;
    Settings settings;
    RunOptions run;
    if (!given(decided, "the place for the options", &err) || !given(text, "the text", &err) ||
        !sizes_read(sizes, text->corpus.vocab.size, &config, &err) ||
        !settings_from(&settings, &run, &config, options, &err) ||
        !teacher_fits(options->teacher, &text->corpus.vocab, config.T, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    double seen = settings_decide(&settings, text->corpus.train, trained);
    if (epochs) *epochs = seen;
    *decided = options_from(&settings, run.threads, options->teacher);
    return TRIL_OK;
}

double tril_epochs_that_help(double characters, int trained) {
    return settings_epochs_that_help(characters, trained);
}

/* ---- how large ---- */

TrilMemory memory_from(const Memory *m) {
    return (TrilMemory){.weights = (double)m->weights,
                        .optimizer = (double)m->optimizer,
                        .messages = (double)m->messages,
                        .activations = (double)m->activations,
                        .threads = (double)m->threads};
}

static double sum_of(const TrilMemory *m) {
    return m->weights + m->optimizer + m->messages + m->activations + m->threads;
}

TrilStatus tril_estimate(const TrilSizes *sizes, int vocabulary, const TrilOptions *options,
                         TrilEstimate *estimate, TrilError *error) {
    Error err = {0};
    Config config;
    Settings settings;
    RunOptions run;
    Memory memory;
    if (!given(estimate, "the place for the estimate", &err) ||
        !sizes_read(sizes, vocabulary, &config, &err) ||
        !settings_from(&settings, &run, &config, options, &err) ||
        !run_estimate(&config, &run, &memory, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *estimate =
        (TrilEstimate){.parameters = model_parameters(&config), .memory = memory_from(&memory)};
    estimate->bytes = sum_of(&estimate->memory);
    return TRIL_OK;
}

TrilStatus tril_training_fits(const TrilSizes *sizes, const TrilText *text,
                              const TrilOptions *options, int resumed, TrilError *error) {
    Error err = {0};
    Settings settings;
    RunOptions run;
    Sizes s;
    Memory any;
    if (!given(text, "the text", &err) ||
        !sizes_read(sizes, text->corpus.vocab.size, &s.config, &err) ||
        !settings_from(&settings, &run, &s.config, options, &err) ||
        !run_estimate(&s.config, &run, &any, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    s.batch = run.batch;
    const TrilModel *teacher = options->teacher;
    return sizes_fit(&s, &run, &text->corpus, teacher ? &teacher->model : NULL, resumed, &err)
               ? TRIL_OK
               : refusal(TRIL_NO_MEMORY, &err, error);
}

/* Sets *s to the sizes, of which some may be open. */
static bool read_open(Sizes *s, const TrilSizes *sizes, int batch, Error *err) {
    if (!given(sizes, "the sizes", err) || !given(sizes->rung, "the rung's name", err))
        return false;
    *s = (Sizes){{.L = sizes->layers,
                  .NH = sizes->heads,
                  .C = sizes->width,
                  .T = sizes->context,
                  .NKV = sizes->kv_heads,
                  .H = sizes->hidden,
                  .dropout = 0},
                 batch};
    size_t length = strlen(sizes->rung);
    if (length >= sizeof s->config.model) return fail(err, "there is no rung '%.64s'", sizes->rung);
    memcpy(s->config.model, sizes->rung, length + 1);
    return true;
}

TrilStatus tril_sizes_check(const TrilSizes *sizes, TrilError *error) {
    Error err = {0};
    Sizes open;
    if (!read_open(&open, sizes, 1, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    Config config = sizes_smallest(&open).config;
    config.V = 1; /* any is valid */
    return model_check(&config, &err) ? TRIL_OK : refusal(TRIL_ARGUMENT, &err, error);
}

TrilStatus tril_sizes_choose(TrilSizes *sizes, TrilOptions *options, const TrilText *text,
                             double seconds, double most_characters, TrilStop stop, void *user,
                             TrilChoice *choice, TrilError *error) {
    Error err = {0};
    Sizes s;
    Choice why;
    RunOptions run;
    Settings any;
    const Config none = {0};
    Asking asking = {stop, user, false};
    if (!given(options, "the options", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    TrilOptions known = *options;
    if (known.batch == 0) known.batch = 1;
    if (tril_sizes_check(sizes, error) != TRIL_OK) return TRIL_ARGUMENT;
    if (!given(text, "the text", &err) || !given(choice, "the place for the choice", &err) ||
        !read_open(&s, sizes, options->batch, &err) ||
        !settings_from(&any, &run, &none, &known, &err) ||
        !teacher_fits(options->teacher, &text->corpus.vocab, s.config.T, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (text->corpus.train <= (size_t)(s.config.T > 0 ? s.config.T : 1)) {
        fail(&err, "the text: too short for a context of %d", s.config.T);
        return refusal(TRIL_TEXT, &err, error);
    }
    if (!(seconds > 0) || !(most_characters > 0)) {
        fail(&err, "the seconds and the characters are more than 0");
        return refusal(TRIL_ARGUMENT, &err, error);
    }
    s.config.V = text->corpus.vocab.size;
    const SizeSearch search = {
        .options = &run,
        .corpus = &text->corpus,
        .teacher = options->teacher ? to_read(options->teacher) : NULL,
        .seconds = seconds,
        .max_characters = most_characters,
        .stop = {ask, &asking},
    };
    if (!sizes_choose(&s, &search, &why, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    *sizes = sizes_of(&s.config);
    options->batch = s.batch;
    *choice = (TrilChoice){.speed = why.speed,
                           .limit = (TrilLimit)why.limit,
                           .layers = why.layers,
                           .width = why.width,
                           .context = why.context,
                           .worth = why.worth};
    return TRIL_OK;
}
