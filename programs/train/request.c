#include "programs/train/request.h"
#include "base/clock.h"
#include "base/options.h"
#include "programs/train/preset.h"

#include <math.h>
#include <string.h>

enum { MAX_OPTIONS = 48, MAX_WORDS = 32, WORD_SIZE = 64 };

static const Request nothing = {.learning_rate = -1,
                                .weight_decay = -1,
                                .embedding_decay = -1,
                                .epochs = -1,
                                .patience = -1,
                                .save_every = -1,
                                .dropout = -1};

Request request_empty(void) {
    return nothing;
}

/* ---- the options ---- */

/* The options, whose values are the members of one request. */
typedef struct {
    Option rows[MAX_OPTIONS];
    int count;
} Options;

/* One table, longer than a screen. */
static void list_options(Options *options, Request *r) {
    TrilSizes *z = &r->sizes;
    const Option rows[] = {
        {.kind = OPTION_SECTION, .help = "What to train"},
        {'m', "model", OPTION_TEXT, &r->model, 0, 0, "NAME",
         "the rung of the ladder; all are listed above"},
        {0, "preset", OPTION_TEXT, &r->preset, 0, 0, "NAME",
         "sizes and steps by name: small (the default), quick, base, nanogpt-cpu, nanogpt-gpu"},
        {0, "ladder", OPTION_FLAG, &r->ladder, 0, 0, NULL, "every rung, on the same budget"},
        {0, "init", OPTION_PATH, &r->init, 0, 0, "PATH",
         "begin from a model: a checkpoint, or a folder of Hugging Face's"},
        {0, "teacher", OPTION_PATH, &r->teacher, 0, 0, "PATH",
         "learn what this model expects, too: half of each target is its prediction"},
        {'o', "out", OPTION_PATH, &r->out, 0, 0, "FILE", "the checkpoint"},
        {'r', "resume", OPTION_FLAG, &r->resume, 0, 0, NULL, "go on with the training of --out"},
        {0, "continue", OPTION_FLAG, &r->continues, 0, 0, NULL,
         "the same if that training is of this FILE and --model, else begin one"},
        {0, "log", OPTION_PATH, &r->log, 0, 0, "FILE",
         "each step of --model as CSV; default: beside --out"},
        {.kind = OPTION_SECTION, .help = "How long and how fast"},
        {'s', "steps", OPTION_INT, &r->steps, 1, 1e9, "N", "training steps"},
        {'t', "time", OPTION_TIME, &r->time, 1, 1e7, "TIME",
         "90s, 5m or 2h for all, instead of a number of steps"},
        {'b', "batch", OPTION_INT, &r->batch, 1, 65536, "N", "windows of text in a step"},
        {0, "lr", OPTION_REAL, &r->learning_rate, 1e-9, 10, "X",
         "peak learning rate of --model; default: the rung's own"},
        {0, "decay", OPTION_REAL, &r->weight_decay, 0, 10, "X",
         "weight decay of --model; default: the rung's own"},
        {0, "embedding-decay", OPTION_REAL, &r->embedding_decay, 0, 100, "X",
         "weight decay of the embedding in modern and conv; default: by the text"},
        {0, "eval-every", OPTION_INT, &r->eval_every, 1, 1e9, "N", "steps between evaluations"},
        {'e', "epochs", OPTION_REAL, &r->epochs, 0, 1e9, "X",
         "the text is seen at most X times with --time, or if neither --steps nor --preset is given; "
         "0: no limit; default: 16 to 40, by its length, and with --init a quarter of that"},
        {0, "patience", OPTION_REAL, &r->patience, 0, 1, "X",
         "ends after this share of the training without a lower loss; 1: never"},
        {0, "save-every", OPTION_REAL, &r->save_every, 0, 60, "X",
         "seconds, at most, between two saves of the last state"},
        {'j', "threads", OPTION_INT, &r->threads, 1, TRIL_MAX_THREADS, "N",
         "threads, which do not change the result; default: one for each processor"},
        {0, "windows", OPTION_TEXT, &r->windows, 0, 0, "NAME",
         "windows grow from short ones to the context, are whole throughout, or auto: they grow in "
         "modern and conv if the text is seen at most eight times, unless from --init"},
        {0, "precision", OPTION_TEXT, &r->precision, 0, 0, "NAME",
         "of products: f32, bf16, or auto: bf16 where the processor has it"},
        {0, "seed", OPTION_SEED, &r->seed, 0, 0, "N", "of all that is random"},
        {.kind = OPTION_SECTION, .help = "How large"},
        {'l', "layers", OPTION_INT, &z->layers, 1, TRIL_MAX_LAYERS, "N",
         "blocks, in gpt, modern and conv"},
        {'H', "heads", OPTION_INT, &z->heads, 1, TRIL_MAX_WIDTH, "N",
         "attention heads; they divide the width"},
        {'w', "width", OPTION_INT, &z->width, 1, TRIL_MAX_WIDTH, "N",
         "channels of a character's vector"},
        {0, "kv-heads", OPTION_INT, &z->kv_heads, 1, TRIL_MAX_WIDTH, "N",
         "heads of keys and values in modern and conv; they divide the heads; default: as many"},
        {0, "hidden", OPTION_INT, &z->hidden, 1, TRIL_MAX_WIDTH, "N",
         "channels inside the MLP of modern and conv; default: 8/3 of the width"},
        {'c', "context", OPTION_INT, &z->context, 1, TRIL_MAX_CONTEXT, "N",
         "characters that a prediction looks back on"},
        {'d', "dropout", OPTION_REAL, &r->dropout, 0, 0.99, "X",
         "share of activations dropped in training; default: by the text"},
        {.kind = OPTION_SECTION, .help = "The text"},
        {0, "val", OPTION_REAL, &r->held_out, 1e-6, 0.999999, "X",
         "share of the text, at its end, held out to validate"},
        {0, "bytes", OPTION_FLAG, &r->bytes, 0, 0, NULL,
         "any file, byte by byte, instead of UTF-8 characters"},
        {.kind = OPTION_SECTION, .help = "Other"},
        {0, "profile", OPTION_FLAG, &r->profile, 0, 0, NULL,
         "print where the time of each training went"},
        {'q', "quiet", OPTION_FLAG, &r->quiet, 0, 0, NULL,
         "print only the table and what follows it"},
        {'h', "help", OPTION_FLAG, &r->help, 0, 0, NULL, "print this"},
        {0, "version", OPTION_FLAG, &r->version, 0, 0, NULL, "print the version"},
    };
    _Static_assert(sizeof rows <= sizeof options->rows, "MAX_OPTIONS is too small");
    memcpy(options->rows, rows, sizeof rows);
    options->count = sizeof rows / sizeof *rows;
}

/* ---- reading ---- */

/* Reads words into an empty request. They are read twice, with different seeds: if both readings
 * end with the same seed, the words have one. */
static bool read_options(Request *request, int argc, char **argv, int *first, Error *err) {
    Request again = nothing;
    Options options;
    *request = nothing;
    again.seed = 1;
    list_options(&options, &again);
    if (!options_parse(options.rows, options.count, argc, argv, first, err)) return false;
    list_options(&options, request);
    if (!options_parse(options.rows, options.count, argc, argv, first, err)) return false;
    request->has_seed = request->seed == again.seed;
    return true;
}

/* The values of --precision and --windows. */
static const char *constant_name(const char *text) {
    static const char *const names[] = {"auto", "f32", "bf16", "grow", "whole"};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) return names[i];
    return NULL;
}

/* Reads a list of words. They do not outlive this function, so texts become constants. */
static bool read_list(Request *request, const char *list, const char *separator, Error *err) {
    char words[WORDS_SIZE], *argv[MAX_WORDS] = {""}, *rest;
    int argc = 1, first;
    snprintf(words, sizeof words, "%s", list);
    for (char *word = strtok_r(words, separator, &rest); word && argc < MAX_WORDS - 1;
         word = strtok_r(NULL, separator, &rest))
        argv[argc++] = word;
    bool ok = read_options(request, argc, argv, &first, err);
    if (request->model) request->model = request_rung(request->model, strlen(request->model));
    request->precision = constant_name(request->precision);
    request->windows = constant_name(request->windows);
    request->preset = request->init = request->teacher = request->out = request->log = NULL;
    return ok;
}

static bool read_preset(Request *request, const char *name, Error *err) {
    const char *words = preset_words(name, err);
    return words && read_list(request, words, " ", err);
}

static Request defaults(void) {
    Error none;
    Request small, rest = nothing;
    rest.out = "out/model.safetensors";
    rest.precision = "auto";
    rest.held_out = 0.1;
    rest.save_every = 60;
    rest.patience = 0.3;
    rest.seed = 1337;
    rest.has_seed = true;
    return read_preset(&small, "small", &none) ? request_over(&small, &rest) : rest;
}

/* Is it one of two names, or auto, or not asked for? */
static bool is_named(const char *option, const char *name, const char *one, const char *other,
                     Error *err) {
    return !name || strcmp(name, one) == 0 || strcmp(name, other) == 0 ||
           strcmp(name, "auto") == 0 ||
           fail(err, "%s is auto, %s or %s, not '%s'", option, one, other, name);
}

static bool check_names(const Request *r, Error *err) {
    return is_named("--precision", r->precision, "f32", "bf16", err) &&
           is_named("--windows", r->windows, "grow", "whole", err);
}

static bool check(const Request *r, int operands, Error *err) {
    if (operands != 1) return fail(err, "one text FILE is expected, not %d; see --help", operands);
    if (!check_names(r, err)) return false;
    if (r->ladder && r->init) return fail(err, "--init is for one model, not for a --ladder");
    if (r->ladder && r->teacher) return fail(err, "--teacher teaches one model, not a --ladder");
    if (r->preset && r->init)
        return fail(err, "--init brings its sizes, as a --preset does; take one");
    return true;
}

bool request_read(Request *request, int argc, char **argv, Error *err) {
    int first;
    double begun = clock_seconds();
    if (!read_options(request, argc, argv, &first, err)) return false;
    if (request->steps > 0 && request->time > 0)
        return fail(err, "--steps and --time are two ways to say how long; take one");
    if (request->preset) {
        Request preset;
        if (!read_preset(&preset, request->preset, err)) return false;
        *request = request_over(request, &preset);
    }
    request->steps_open = request->steps == 0;
    request->command = argv;
    request->begun = begun;
    request->input = first < argc ? argv[first] : NULL;
    return request->help || request->version || check(request, argc - first, err);
}

/* ---- one request over another ---- */

/* Has the option been asked for? */
static bool is_set(const Option *option, bool has_seed) {
    switch (option->kind) {
        case OPTION_FLAG: return *(const bool *)option->value;
        case OPTION_INT: return *(const int *)option->value >= option->min;
        case OPTION_SEED: return has_seed;
        case OPTION_REAL:
        case OPTION_TIME: return *(const double *)option->value >= option->min;
        case OPTION_PATH:
        case OPTION_TEXT: return *(const char *const *)option->value != NULL;
        case OPTION_SECTION: break;
    }
    return true;
}

static void copy_value(const Option *to, const Option *from) {
    static const size_t sizes[] = {
        [OPTION_FLAG] = sizeof(bool),         [OPTION_INT] = sizeof(int),
        [OPTION_SEED] = sizeof(uint64_t),     [OPTION_REAL] = sizeof(double),
        [OPTION_TIME] = sizeof(double),       [OPTION_TEXT] = sizeof(const char *),
        [OPTION_PATH] = sizeof(const char *),
    };
    memcpy(to->value, from->value, sizes[to->kind]);
}

Request request_over(const Request *request, const Request *other) {
    Request all = *request, below = *other;
    Options own, others;
    if (all.steps > 0) below.time = 0;
    list_options(&own, &all);
    list_options(&others, &below);
    for (int i = 0; i < own.count; i++)
        if (!is_set(&own.rows[i], all.has_seed)) copy_value(&own.rows[i], &others.rows[i]);
    all.has_seed = all.has_seed || below.has_seed;
    return all;
}

Request request_new(const Request *request) {
    Request rest = defaults();
    if (request->time > 0) {
        rest.sizes = nothing.sizes;
        rest.dropout = nothing.dropout;
        rest.batch = 0;
    }
    return request_over(request, &rest);
}

/* ---- a training that goes on ---- */

/* What a resumed training keeps. The first FIXED cannot change. */
static const char *const lasting[] = {
    "model",   "layers", "heads", "width",           "kv-heads", "hidden",     "context",   "val",
    "bytes",   "ladder", "steps", "batch",           "lr",       "eval-every", "precision", "seed",
    "dropout", "time",   "decay", "embedding-decay", "patience", "epochs",     "windows"};
enum { LASTING = sizeof lasting / sizeof *lasting, FIXED = 9 };

static size_t write_word(const Request *request, const char *name, char word[WORD_SIZE]) {
    Request copy = *request;
    Options options;
    list_options(&options, &copy);
    return option_word(options.rows, options.count, name, word, WORD_SIZE);
}

void request_write(const Request *request, char words[WORDS_SIZE]) {
    char word[WORD_SIZE];
    size_t length = 0;
    *words = 0;
    for (int i = 0; i < LASTING; i++)
        if (write_word(request, lasting[i], word) > 0 && length < WORDS_SIZE)
            length += (size_t)snprintf(words + length, WORDS_SIZE - length, "%s\n", word);
}

/* Is each of these lines one of `lines`? */
static bool are_lines_of(const char *words, const char *lines) {
    for (size_t length; (length = strcspn(words, "\n")) > 0; words += length + 1) {
        const char *at = lines;
        while (*at && !(strncmp(at, words, length) == 0 && at[length] == '\n'))
            at += strcspn(at, "\n") + 1;
        if (!*at) return false;
        if (!words[length]) break;
    }
    return true;
}

bool request_parse(Request *request, const char *words, bool all, Error *err) {
    char again[WORDS_SIZE];
    if (!read_list(request, words, "\n", err) || !check_names(request, err)) return false;
    Request rest = defaults();
    if (request->patience < 0) rest.patience = 1; /* the library ends no training early */
    *request = request_over(request, &rest);
    request_write(request, again);
    return (all ? strcmp(words, again) == 0 : are_lines_of(words, again)) ||
           fail(err, "its metadata has no valid 'settings'");
}

/* With --continue a training takes at least the steps, or the time, of the request before. */
static void keep_budget(Request *all, const Request *before) {
    if (before->time > 0) {
        all->time = fmax(all->time, before->time);
    } else {
        all->time = 0;
        if (all->steps < before->steps) all->steps = before->steps;
    }
}

bool request_resume(Request *all, const Request *request, const Request *before, Error *err) {
    char was[WORD_SIZE], now[WORD_SIZE];
    *all = request_over(request, before);
    if (request->continues) keep_budget(all, before);
    for (int i = 0; i < FIXED; i++) {
        write_word(before, lasting[i], was);
        write_word(all, lasting[i], now);
        if (strcmp(was, now) != 0)
            return fail(err, "was trained with%s %s, not %s", *was ? "" : "out", *was ? was : now,
                        *was ? now : "with it");
    }
    return true;
}

/* ---- the rungs ---- */

const char *request_rung(const char *name, size_t length) {
    for (int i = 0; tril_rung(i); i++)
        if (strlen(tril_rung(i)) == length && memcmp(tril_rung(i), name, length) == 0)
            return tril_rung(i);
    return NULL;
}

int request_rungs(const Request *request, const char *names[MAX_RUNGS]) {
    int count = 0;
    for (int i = 0; tril_rung(i) && count < MAX_RUNGS; i++)
        if (request->ladder || i == 0 || strcmp(tril_rung(i), request->model) == 0)
            names[count++] = tril_rung(i);
    return count;
}

/* ---- help ---- */

void request_print_options(FILE *out) {
    Request usual = defaults();
    Options options;
    list_options(&options, &usual);
    options_print(out, options.rows, options.count);
}
