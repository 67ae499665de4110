#include "library/settings.h"
#include "base/array.h"
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USUAL_STEPS = 2500, MAX_STEPS = 1000000000 };

Settings settings_usual(void) {
    return (Settings){
        .config = {.model = "modern", .L = 4, .NH = 4, .C = 128, .T = 256, .dropout = -1},
        .epochs = -1,
        .batch = 8,
        .weight_decay = -1,
        .embedding_decay = -1,
        .held_out = 0.1,
        .precision = run_default_precision(),
        .seed = 1337};
}

/* ---- names ---- */

static const char
    *const precisions[] = {[FLOAT32] = "f32", [BFLOAT16] = "bf16"},
           *const windows_names[] = {
               [WINDOWS_AUTO] = "auto", [WINDOWS_GROW] = "grow", [WINDOWS_WHOLE] = "whole"};

const char *settings_precision_name(Precision precision) {
    return precisions[precision];
}

const char *settings_windows_name(Windows windows) {
    return windows_names[windows];
}

bool settings_precision(const char *name, Precision *precision, Error *err) {
    *precision = run_default_precision();
    if (strcmp(name, "auto") == 0) return true;
    for (int i = 0; i < COUNT(precisions); i++) {
        *precision = (Precision)i;
        if (precisions[i] && strcmp(name, precisions[i]) == 0) return true;
    }
    return fail(err, "the precision is auto, f32 or bf16, not '%.64s'", name);
}

bool settings_windows(const char *name, Windows *windows, Error *err) {
    for (int i = 0; i < COUNT(windows_names); i++) {
        *windows = (Windows)i;
        if (strcmp(name, windows_names[i]) == 0) return true;
    }
    return fail(err, "windows are auto, grow or whole, not '%.64s'", name);
}

/* ---- what is open ---- */

/* With more, the model memorises the text. A short text needs more epochs to be learnt at all.
 * Found by trial on 35,000 and on a million characters (docs/records.md). A trained model needs
 * fewer. */
double settings_epochs_that_help(double characters, bool trained) {
    const double max = 40, min = 16, million = 1e6, share = trained ? 0.25 : 1;
    return round(share * fmin(max, fmax(min, min * sqrt(million / characters))));
}

/* A model memorises a text sooner if it sees the text more often and if it has more weights.
 * Dropout works against that. If a text is seen only a few times, dropout only takes time. Found by
 * trial (docs/records.md). */
static double dropout_for(const Config *config, double epochs, double characters) {
    Config sizes = *config;
    sizes.dropout = 0; /* still open */
    const double few = 5, each = 0.026, max = 0.3;
    double light = fmin(230e3, 1.3 * characters); /* weights that do not memorise */
    double often = log2(epochs / few);
    double heavy = log2((double)model_parameters(&sizes) / light);
    double dropout = each * fmax(0, often) * fmax(0, heavy);
    return round(100 * fmin(dropout, max)) / 100;
}

/* The steps are as many as the epochs allow, but no more than usual. */
static int steps_for(double epochs, double epochs_of_step) {
    if (epochs <= 0) return USUAL_STEPS;
    return (int)fmin(USUAL_STEPS, fmax(1, epochs / epochs_of_step));
}

/* A trained model keeps more of what it knows if the rate is lower than usual. */
static double gentle_rate(const Settings *s) {
    const double gentle = 0.1;
    return gentle * recipe_of(s->config.model).peak.learning_rate;
}

/* The decay also keeps a text from being learnt by heart. Before that is near, it only holds back
 * what is learnt: so it is the full one times (epochs / 4)^2, but at least times 1000 V / N for V
 * characters in the vocabulary and N to train on. If N has fewer than a thousand for each, some are
 * rare, and only the decay keeps their vectors from growing without end (library/recipe.c). Found
 * by trial (docs/records.md). */
static double embedding_decay_for(const Settings *s, double epochs, double characters) {
    const double several = 4, common = 1000;
    double full = recipe_of(s->config.model).peak.weight_decay;
    double often = fmin(1, epochs / several), rare = fmin(1, common * s->config.V / characters);
    return round(1000 * full * fmax(often * often, rare)) / 1000;
}

double settings_decide(Settings *s, size_t characters, bool trained) {
    const double often = 8, train = (double)characters;
    double epochs_of_step = (double)s->batch * s->config.T / train;
    if (s->epochs < 0) s->epochs = s->steps > 0 ? 0 : settings_epochs_that_help(train, trained);
    if (s->steps == 0) s->steps = steps_for(s->epochs, epochs_of_step);
    double epochs = s->steps * epochs_of_step;
    if (s->config.dropout < 0) s->config.dropout = dropout_for(&s->config, epochs, train);
    if (s->learning_rate <= 0 && trained) s->learning_rate = gentle_rate(s);
    if (s->embedding_decay < 0 && recipe_of(s->config.model).own_decay)
        s->embedding_decay = embedding_decay_for(s, epochs, train);
    /* A trained model has learnt what is near. A text that is seen often may be learnt by heart,
       and while windows are short no evaluation tells. */
    bool grow = recipe_of(s->config.model).grows && !trained && epochs <= often;
    if (s->windows == WINDOWS_AUTO) s->windows = grow ? WINDOWS_GROW : WINDOWS_WHOLE;
    return epochs;
}

void settings_complete(Settings *s) {
    const Recipe recipe = recipe_of(s->config.model);
    if (s->embedding_decay >= 0 || !recipe.own_decay) return;
    s->embedding_decay = recipe.peak.weight_decay;
    if (s->weight_decay >= 0) s->embedding_decay *= s->weight_decay / recipe.peak.matrix_decay;
}

Recipe settings_recipe(const Settings *s) {
    Recipe recipe = recipe_of(s->config.model);
    if (s->windows != WINDOWS_AUTO) recipe.grows = s->windows == WINDOWS_GROW;
    if (s->embedding_decay >= 0) recipe_set_embedding_decay(&recipe, s->embedding_decay);
    if (s->learning_rate > 0) recipe_set_learning_rate(&recipe, s->learning_rate);
    if (s->weight_decay >= 0) recipe_set_weight_decay(&recipe, s->weight_decay);
    return recipe;
}

/* ---- words ---- */

/* The words of some settings, as options. */
typedef struct {
    Option rows[19];
    const char *model, *precision, *windows; /* values that are texts */
} Words;

/* The rows are read from and written to `s`; the model's sizes are written only, for the checkpoint
 * has them. Ranges are those of ./train. */
static void list_words(Words *words, Settings *s, Config *sizes) {
    const Option rows[] = {
        {0, "model", OPTION_TEXT, &words->model, 0, 0, NULL, NULL},
        {0, "layers", OPTION_INT, &sizes->L, 1, MAX_LAYERS, NULL, NULL},
        {0, "heads", OPTION_INT, &sizes->NH, 1, MAX_WIDTH, NULL, NULL},
        {0, "width", OPTION_INT, &sizes->C, 1, MAX_WIDTH, NULL, NULL},
        {0, "kv-heads", OPTION_INT, &sizes->NKV, 1, MAX_WIDTH, NULL, NULL},
        {0, "hidden", OPTION_INT, &sizes->H, 1, MAX_WIDTH, NULL, NULL},
        {0, "context", OPTION_INT, &sizes->T, 1, MAX_CONTEXT, NULL, NULL},
        {0, "val", OPTION_REAL, &s->held_out, 1e-6, 0.999999, NULL, NULL},
        {0, "bytes", OPTION_FLAG, &s->bytes, 0, 0, NULL, NULL},
        {0, "steps", OPTION_INT, &s->steps, 1, MAX_STEPS, NULL, NULL},
        {0, "batch", OPTION_INT, &s->batch, 1, 65536, NULL, NULL},
        {0, "lr", OPTION_REAL, &s->learning_rate, 1e-9, 10, NULL, NULL},
        {0, "precision", OPTION_TEXT, &words->precision, 0, 0, NULL, NULL},
        {0, "seed", OPTION_SEED, &s->seed, 0, 0, NULL, NULL},
        {0, "dropout", OPTION_REAL, &sizes->dropout, 0, 0.99, NULL, NULL},
        {0, "decay", OPTION_REAL, &s->weight_decay, 0, 10, NULL, NULL},
        {0, "embedding-decay", OPTION_REAL, &s->embedding_decay, 0, 100, NULL, NULL},
        {0, "epochs", OPTION_REAL, &s->epochs, 0, 1e9, NULL, NULL},
        {0, "windows", OPTION_TEXT, &words->windows, 0, 0, NULL, NULL},
    };
    _Static_assert(sizeof rows == sizeof words->rows, "Words.rows has another length");
    memcpy(words->rows, rows, sizeof rows);
}

void settings_write(const Settings *settings, char text[WORDS_SIZE]) {
    enum { WORD = 64 };
    Settings s = *settings;
    Words words = {.model = s.config.model,
                   .precision = precisions[s.precision],
                   .windows = windows_names[s.windows]};
    size_t length = 0;
    list_words(&words, &s, &s.config);
    for (int i = 0; i < COUNT(words.rows); i++) {
        char word[WORD];
        size_t got = option_word(words.rows, COUNT(words.rows), words.rows[i].name, word, WORD);
        if (got > 0 && length < WORDS_SIZE)
            length += (size_t)snprintf(text + length, WORDS_SIZE - length, "%s\n", word);
    }
}

/* Is the line "--" and the row's name, alone or before "="? */
static bool is_of(const char *line, const Option *row) {
    size_t length = strlen(row->name);
    return strncmp(line, "--", 2) == 0 && strncmp(line + 2, row->name, length) == 0 &&
           (line[2 + length] == '=' || !line[2 + length]);
}

/* Reads the line, if it is one of these words. */
static bool read_line(Words *words, char *line, Error *err) {
    for (int i = 0; i < COUNT(words->rows); i++) {
        char *argv[] = {"", line, NULL};
        int first;
        if (is_of(line, &words->rows[i]))
            return options_parse(words->rows, COUNT(words->rows), 2, argv, &first, err);
    }
    return true;
}

bool settings_read(Settings *s, const char *text, Error *err) {
    char copy[WORDS_SIZE], *rest;
    Config sizes;
    Words words = {0};
    *s = settings_usual();
    s->steps = 1;
    s->epochs = 0;
    snprintf(copy, sizeof copy, "%s", text);
    list_words(&words, s, &sizes);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!read_line(&words, line, err)) return false;
    s->windows = WINDOWS_WHOLE; /* they never grew */
    return words.model && words.precision && settings_precision(words.precision, &s->precision, err)
               ? !words.windows || settings_windows(words.windows, &s->windows, err)
               : fail(err, "its metadata has no valid 'settings'");
}
