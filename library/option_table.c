/* option_table.c - the table of a training run's options: names, ranges, defaults and help; the
 * records that the engine makes of them. */
#include "library/handles.h"
#include "base/array.h"
#include "base/names.h"
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const precision_names[] = {"auto", "f32", "bf16", NULL};

static const char model[] = "What to train", budget[] = "How long and how fast",
                  size[] = "How large", text_part[] = "The text";

#define AT(member) offsetof(TrilOptions, member)

/* clang-format off */
static const TrilOption table[] = {
    {"model", 'm', TRIL_NAME, .names = model_names, "modern", TRIL_MODEL, AT(rung), model, "NAME",
     "the rung to train, one of those above"},
    {"steps", 's', TRIL_WHOLE, 1, 1e9, NULL, NULL, TRIL_KEPT, AT(steps), budget, "N",
     "training steps; default: 2500, fewer for a short text"},
    {"time", 't', TRIL_TIME, 1, 1e7, NULL, NULL, TRIL_KEPT, AT(time), budget, "TIME",
     "time limit in seconds, or as 5m or 2h, instead of --steps"},
    {"batch", 'b', TRIL_WHOLE, 1, 65536, NULL, "8", TRIL_KEPT, AT(batch), budget, "N",
     "windows of text per step"},
    {"lr", 0, TRIL_REAL, 1e-9, 10, NULL, NULL, TRIL_KEPT, AT(learning_rate), budget, "X",
     "learning rate of --model; default: the rung's own"},
    {"eval-every", 0, TRIL_WHOLE, 1, 1e9, NULL, NULL, TRIL_KEPT, AT(eval_every), budget, "N",
     "steps between evaluations; default: about a tenth"},
    {"epochs", 'e', TRIL_REAL, 0, 1e9, NULL, NULL, TRIL_KEPT, AT(epochs), budget, "X",
     "most epochs (passes over the text), 0: no limit; default: 16 to 40, with --init 4 to 10"},
    {"patience", 0, TRIL_REAL, 0, 1, NULL, "0.3", TRIL_KEPT, AT(patience), budget, "X",
     "end after this share of steps without a new low"},
    {"threads", 'j', TRIL_WHOLE, 1, TRIL_MAX_THREADS, NULL, NULL, TRIL_FRESH, AT(threads), budget, "N",
     "threads; default: one per processor"},
    {"precision", 0, TRIL_NAME, .names = precision_names, "auto", TRIL_KEPT, AT(precision), budget, "NAME",
     "precision of products: f32, bf16 or the faster"},
    {"seed", 0, TRIL_SEED, .standard = "1337", TRIL_KEPT, AT(seed), budget, "N", "random seed"},
    {"layers", 'l', TRIL_WHOLE, 1, TRIL_MAX_LAYERS, NULL, "4", TRIL_MODEL, AT(layers), size, "N",
     "transformer blocks, from gpt on"},
    {"heads", 'H', TRIL_WHOLE, 1, TRIL_MAX_WIDTH, NULL, "4", TRIL_MODEL, AT(heads), size, "N",
     "attention heads; must divide --width"},
    {"width", 'w', TRIL_WHOLE, 1, TRIL_MAX_WIDTH, NULL, "128", TRIL_MODEL, AT(width), size, "N",
     "channels of each character's vector"},
    {"kv-heads", 0, TRIL_WHOLE, 1, TRIL_MAX_WIDTH, NULL, NULL, TRIL_MODEL, AT(kv_heads), size, "N",
     "key-value heads, from modern on; must divide --heads"},
    {"context", 'c', TRIL_WHOLE, 1, TRIL_MAX_CONTEXT, NULL, "256", TRIL_MODEL, AT(context), size, "N",
     "characters that each prediction can see"},
    {"dropout", 'd', TRIL_REAL, 0, 0.99, NULL, NULL, TRIL_KEPT, AT(dropout), size, "X",
     "share of activations dropped; default: chosen"},
    {"val", 0, TRIL_REAL, 1e-6, 0.999999, NULL, "0.1", TRIL_FIXED, AT(held_out), text_part, "X",
     "share of the text, at its end, that is held out"},
    {"bytes", 0, TRIL_FLAG, .standard = "0", TRIL_FIXED, AT(bytes), text_part, NULL,
     "read any file byte by byte, not as UTF-8 characters"},
};
/* clang-format on */
enum { ROWS = COUNT(table) };

const TrilOption *tril_option(int i) {
    return i >= 0 && i < ROWS ? &table[i] : NULL;
}

/* ---- values ---- */

static void *value_at(const TrilOptions *o, const TrilOption *row) {
    return (char *)o + row->member;
}

static void copy(TrilOptions *to, const TrilOptions *from, const TrilOption *row) {
    if (row->kind == TRIL_NAME)
        *(const char **)value_at(to, row) = *(const char **)value_at(from, row);
    else
        *(double *)value_at(to, row) = *(double *)value_at(from, row);
}

static Option option_at(const TrilOptions *o, const TrilOption *row) {
    return (Option){.name = row->name,
                    .kind = (OptionKind)row->kind,
                    .value = value_at(o, row),
                    .min = row->min,
                    .max = row->max};
}

static bool set(TrilOptions *o, const TrilOption *row, const char *text, Error *err) {
    const Option option = option_at(o, row);
    int i;
    if (*text && row->kind == TRIL_NAME) {
        if (!name_find(row->names, text, &i, row->name, err)) return false;
        *(const char **)value_at(o, row) = row->names[i];
        return true;
    }
    if (*text || row->kind == TRIL_FLAG || row->kind == TRIL_SEED)
        return option_read(&option, text, err);
    if (row->kind == TRIL_NAME)
        *(const char **)value_at(o, row) = NULL;
    else
        *(double *)value_at(o, row) = NAN;
    return true;
}

static bool is_set(const TrilOptions *o, const TrilOption *row) {
    if (row->kind == TRIL_NAME) return *(const char **)value_at(o, row) != NULL;
    return row->kind == TRIL_FLAG || row->kind == TRIL_SEED || !isnan(*(double *)value_at(o, row));
}

bool tril_options_get(const TrilOptions *o, int i, char text[TRIL_OPTION_SIZE]) {
    const TrilOption *row = tril_option(i);
    *text = 0;
    if (!row || !is_set(o, row)) return false;
    const Option option = option_at(o, row);
    option_write(&option, text, TRIL_OPTION_SIZE);
    return true;
}

TrilOptions tril_options_empty(void) {
    TrilOptions o = {.hidden = NAN};
    Error none;
    for (const TrilOption *row = table; row < table + ROWS; row++)
        if (row->kind != TRIL_FLAG)
            set(&o, row, row->kind == TRIL_SEED ? row->standard : "", &none);
    return o;
}

void options_fill(TrilOptions *o) {
    Error none;
    for (const TrilOption *row = table; row < table + ROWS; row++) {
        const char *text = !is_set(o, row)          ? row->standard
                           : row->kind == TRIL_NAME ? *(const char **)value_at(o, row)
                                                    : NULL;
        if (text && *text) set(o, row, text, &none); /* an empty name stays an error */
    }
}

TrilOptions tril_options(void) {
    TrilOptions o = tril_options_empty();
    options_fill(&o);
    return o;
}

static bool check_number(double x, double min, double max, bool whole, const char *name,
                         Error *err) {
    return in_range(x, min, max, name, err) &&
           (!whole || x == floor(x) || fail(err, "%s: %g is not a whole number", name, x));
}

bool options_in_range(const TrilOptions *o, Error *err) {
    for (int i = 0; i < ROWS; i++) {
        const TrilOption *row = &table[i];
        if (!is_set(o, row) || row->kind == TRIL_FLAG || row->kind == TRIL_SEED) continue;
        if (row->kind == TRIL_NAME) {
            int at;
            if (!name_find(row->names, *(const char **)value_at(o, row), &at, row->name, err))
                return false;
            continue;
        }
        if (!check_number(*(double *)value_at(o, row), row->min, row->max, row->kind == TRIL_WHOLE,
                          row->name, err))
            return false;
    }
    return isnan(o->hidden) || check_number(o->hidden, 1, TRIL_MAX_WIDTH, true, "hidden", err);
}

/* ---- presets ---- */

/* The options that a preset sets. */
static const char *const columns[] = {"model", "layers",  "heads", "width",    "context",  "batch",
                                      "steps", "dropout", "lr",    "patience", "precision"};

/* `quick` is the tour's, whose losses are the same on every processor. The last two are from
 * nanoGPT (Karpathy, 2022): its README's run on a laptop, and config/train_shakespeare_char.py. */
static const struct {
    const char *name;
    const char *values[COUNT(columns)]; /* NULL: not set */
} presets[] = {
    {"small", {"modern", "4", "4", "128", "256", "8", "2500"}},
    {"quick", {"modern", "2", "3", "96", "128", "8", "1200", NULL, NULL, NULL, "f32"}},
    {"base", {"modern", "6", "8", "256", "512", "8", "3000", "0.15"}},
    {"nanogpt-cpu", {"gpt", "4", "4", "128", "64", "12", "2000", "0", "0.001", "1"}},
    {"nanogpt-gpu", {"gpt", "6", "6", "384", "256", "64", "5000", "0.2", "0.001", "1"}},
};

const char *tril_preset(int i) {
    return i >= 0 && i < COUNT(presets) ? presets[i].name : NULL;
}

/* Returns the row of an option, or NULL. */
static const TrilOption *row_of(const char *name) {
    int i = 0;
    while (i < ROWS && strcmp(table[i].name, name) != 0) i++;
    return i < ROWS ? &table[i] : NULL;
}

static bool set_preset(TrilOptions *options, const char *name, Error *err) {
    const char *names[COUNT(presets) + 1] = {NULL};
    int i;
    for (i = 0; i < COUNT(presets); i++) names[i] = presets[i].name;
    if (!name_find(names, name, &i, "preset", err)) return false;
    for (int j = 0; j < COUNT(columns); j++)
        if (presets[i].values[j]) set(options, row_of(columns[j]), presets[i].values[j], err);
    return true;
}

TrilStatus tril_options_set(TrilOptions *options, const char *name, const char *text, Error *err) {
    if (!options || !name || !text || !err) return null_argument(err);
    const TrilOption *row = row_of(name);
    const bool ok = row                           ? set(options, row, text, err)
                    : strcmp(name, "preset") == 0 ? set_preset(options, text, err)
                                                  : fail(err, "there is no option '%.64s'", name);
    return result(ok, err);
}

/* ---- the engine's records ---- */

static int whole(double x) {
    return isnan(x) ? 0 : (int)x;
}

bool options_config(const TrilOptions *o, int V, Config *config, Error *err) {
    if (!options_in_range(o, err)) return false;
    if (!o->rung) return fail(err, "model: no rung is set");
    *config = (Config){.V = V,
                       .T = whole(o->context),
                       .L = whole(o->layers),
                       .NH = whole(o->heads),
                       .C = whole(o->width),
                       .NKV = whole(o->kv_heads),
                       .H = whole(o->hidden)};
    snprintf(config->model, sizeof config->model, "%s", o->rung);
    return model_check(config, err);
}

TrilOptions options_of(const Config *c) {
    TrilOptions o = tril_options_empty();
    set(&o, &table[0], c->model, &(Error){0});
    o.layers = c->L;
    o.heads = c->NH;
    o.width = c->C;
    o.context = c->T;
    if (c->NKV > 0) o.kv_heads = c->NKV;
    if (c->H > 0) o.hidden = c->H;
    return o;
}

void tril_options_take_sizes(TrilOptions *o, const TrilOptions *sizes) {
    for (int i = 0; i < ROWS; i++)
        if (table[i].on_resume == TRIL_MODEL) copy(o, sizes, &table[i]);
    o->hidden = sizes->hidden;
}

TrilOptions tril_options_sizes(const TrilOptions *options) {
    Config config;
    TrilOptions sizes = tril_options_empty();
    if (options_config(options, 1, &config, &(Error){0})) {
        sizes = options_of(&config);
        sizes.kv_heads = model_kv_heads(&config);
        sizes.hidden = model_hidden(&config);
    } else {
        tril_options_take_sizes(&sizes, options);
    }
    return sizes;
}

const char *tril_precision(const char *name) {
    if (name && strcmp(name, "auto") == 0)
        return run_default_precision() == BFLOAT16 ? "bf16" : "f32";
    int i;
    const char *const *decided = precision_names + 1;
    return name && name_find(decided, name, &i, "", &(Error){0}) ? decided[i] : NULL;
}

RunOptions options_run(const TrilOptions *o) {
    const char *precision = tril_precision(o->precision ? o->precision : "auto");
    return (RunOptions){.training = true,
                        .batch = whole(o->batch),
                        .length = whole(o->context),
                        .threads = tril_threads(o->threads),
                        .precision = strcmp(precision, "bf16") == 0 ? BFLOAT16 : FLOAT32,
                        .dropout = isnan(o->dropout) ? 0 : o->dropout,
                        .seed = o->seed,
                        .shared = true};
}

TrilStatus tril_option_effect(int i, const TrilOptions *options, Error *err) {
    const TrilOption *row = tril_option(i);
    int at;
    if (!options || !err) return null_argument(err);
    if (!row) return result(fail(err, "there is no option number %d", i), err);
    const char *rung = options->rung;
    const bool timed = !isnan(options->time);
    bool ok = !rung || name_find(model_names, rung, &at, "model", err);
    if (ok && rung && !tril_rung_uses(rung, i))
        ok = fail(err, "%s has no effect on %s; leave it out", row->name, rung);
    if (ok && timed && row->member == AT(eval_every))
        ok = fail(err,
                  "%s has no effect with a time limit, which schedules the evaluations itself; "
                  "leave it out",
                  row->name);
    if (ok && !timed && !isnan(options->steps) && options->epochs > 0 && row->member == AT(epochs))
        ok = fail(err, "%s has no effect with a given number of steps; leave it out", row->name);
    return result(ok, err);
}

bool tril_rung_uses(const char *rung, int i) {
    const TrilOption *row = tril_option(i);
    Config config = {.V = 1, .T = 2, .L = 2, .NH = 4, .C = 8, .NKV = 2}; /* none usual */
    snprintf(config.model, sizeof config.model, "%s", rung);
    if (!row || !model_check(&config, &(Error){0})) return false;
    const TrilOptions sizes = options_of(&config); /* an ignored size is now 1 or unset */
    if (row->on_resume == TRIL_MODEL && row->kind == TRIL_WHOLE)
        return *(double *)value_at(&sizes, row) > 1;
    return row->member != AT(dropout) || sizes.layers > 1; /* rungs with blocks have it */
}
