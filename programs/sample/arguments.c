#include "programs/sample/sample.h"
#include "base/array.h"
#include "base/file.h"
#include "base/names.h"
#include "base/options.h"
#include "programs/common.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OPTIONS = 32 };

static Arguments defaults(void) {
    const TrilSampling usual = tril_sampling();
    return (Arguments){
        .length = (int)usual.length, .samples = 1, .layer = ANY, .head = ANY, .sampling = usual};
}

/* Lists the options, whose values are members of the arguments. Returns how many. */
static int list_options(Option options[MAX_OPTIONS], Arguments *a) {
    TrilSampling *s = &a->sampling;
    const Option rows[] = {
        {.kind = OPTION_SECTION, .help = "What to write"},
        {'n', "length", OPTION_INT, &a->length, 1, 1e9, "N",
         "characters to write after the prompt"},
        {'p', "prompt", OPTION_TEXT, &a->prompt, .argument = "TEXT",
         "the prompt: the beginning of the text"},
        {0, "prompt-file", OPTION_PATH, &a->prompt_file, .argument = "FILE",
         "a file (or -) with the prompt"},
        {'q', "quiet", OPTION_FLAG, &a->quiet, .help = "do not print the prompt"},
        {0, "samples", OPTION_INT, &a->samples, 1, 1e6, "N",
         "texts to write, separated by lines of ----"},
        {0, "stop", OPTION_TEXT, &s->stop, .argument = "TEXT", "end a text after writing TEXT"},
        {'i', "interactive", OPTION_FLAG, &a->interactive,
         .help = "take turns: you begin a line, the model continues"},
        {0, "copied", OPTION_PATH, &a->copied, .argument = "FILE",
         "after writing, show passages copied from FILE (or -), the training text"},
        {.kind = OPTION_SECTION, .help = "How to choose each character"},
        {'t', "temperature", OPTION_REAL, &s->temperature, 0, 100, "X",
         "randomness; 0: always the likeliest character"},
        {'k', "top-k", OPTION_INT, &s->top_k, 0, 1e7, "N",
         "choose among the N likeliest; 0: among all"},
        {'P', "top-p", OPTION_REAL, &s->top_p, 1e-9, 1, "X",
         "choose among the likeliest, which add up to X"},
        {0, "counts", OPTION_REAL, &s->counts, 0, 1, "X", "weight of an ngram model's counts"},
        {0, "seed", OPTION_SEED, &s->seed, .argument = "N", "random seed"},
        {.kind = OPTION_SECTION, .help = "Instead of writing"},
        {0, "score", OPTION_PATH, &a->score, .argument = "FILE",
         "how well the model predicts FILE (or -)"},
        {0, "explain", OPTION_TEXT, &a->explain, .argument = "TEXT",
         "how TEXT leads to the next character"},
        {0, "layer", OPTION_INT, &a->layer, 0, TRIL_MAX_LAYERS - 1, "N",
         "the block to explain; default: the one that matters most"},
        {0, "head", OPTION_INT, &a->head, 0, TRIL_MAX_WIDTH, "N",
         "its head; default: the one that matters most"},
        {0, "info", OPTION_FLAG, &a->info, .help = "print the contents of CHECKPOINT"},
        {.kind = OPTION_SECTION, .help = "Other"},
        {'j', "threads", OPTION_INT, &s->threads, 1, TRIL_MAX_THREADS, "N",
         "threads (default: one per processor)"},
        {0, "precision", OPTION_TEXT, &a->precision, .argument = "NAME",
         "f32 or int8 (default: int8, or f32 for --score)"},
        {'h', "help", OPTION_FLAG, &a->help, .help = "print this help"},
        {0, "version", OPTION_FLAG, &a->version, .help = "print the version"},
    };
    _Static_assert(COUNT(rows) <= MAX_OPTIONS, "MAX_OPTIONS is too small");
    memcpy(options, rows, sizeof rows);
    return COUNT(rows);
}

/* Reads the name of --precision. */
static bool read_precision(Arguments *a, Error *err) {
    static const char *const precisions[] = {"f32", "int8", NULL};
    int i;
    if (!a->precision) return true;
    a->sampling.precision = a->precision;
    return name_find(precisions, a->precision, &i, "--precision", err);
}

static bool check(const Arguments *a, const Option *options, uint64_t given, Error *err) {
    const TrilSampling *s = &a->sampling;
    const bool chooses = s->temperature > 0 || a->interactive; /* among several characters */
    const bool shows = a->score || a->explain || a->info;
    char writes[32] = ""; /* an option of the first two sections, which are about writing */
    for (int i = 0, sections = 0; sections < 2; sections += options[++i].kind == OPTION_SECTION)
        if (given >> i & 1) snprintf(writes, sizeof writes, "--%s", options[i].name);
    const bool prompted = a->prompt_file && strcmp(a->prompt_file, "-") == 0,
               compared = a->copied && strcmp(a->copied, "-") == 0;
    const char *chosen = a->layer >= 0 ? "--layer" : a->head >= 0 ? "--head" : NULL;
    const struct {
        bool given;
        const char *name;
    } single[] = {
        /* at most one of these may be given */
        {a->interactive, "--interactive"},
        {a->interactive && a->samples > 1, "--samples"},
        {a->interactive && a->copied, "--copied"},
        {prompted && (a->interactive || compared), "--prompt-file -"},
        {prompted && compared, "--copied -"},
        {a->score, "--score"},
        {a->explain, "--explain"},
        {a->info, "--info"},
        {shows && *writes, writes},
        {(a->explain || a->info) && a->precision, "--precision"},
        {(a->explain || a->info) && a->sampling.threads, "--threads"},
    };
    const struct {
        bool given;
        const char *name;
        bool has;
        const char *needed;
    } needs[] = {
        {chosen, chosen, a->explain, "--explain"},
        {s->top_k > 0, "--top-k", chooses, "a --temperature above 0"},
        {s->top_p < 1, "--top-p", chooses, "a --temperature above 0"},
        {s->seed != tril_sampling().seed, "--seed", chooses, "a --temperature above 0"},
    };
    const char *first = NULL;
    for (int i = 0; i < COUNT(single); i++) {
        if (!single[i].given) continue;
        if (first)
            return fail(err, "%s and %s cannot be used together; leave one out", first,
                        single[i].name);
        first = single[i].name;
    }
    for (int i = 0; i < COUNT(needs); i++)
        if (needs[i].given && !needs[i].has)
            return fail(err, "%s needs %s", needs[i].name, needs[i].needed);
    if (a->prompt && a->prompt_file)
        return fail(err, "--prompt and --prompt-file both begin the text; give only one");
    if (s->stop && !*s->stop) return fail(err, "--stop: an empty TEXT would never end a text");
    return a->count <= 1 || a->score ||
           fail(err, "one CHECKPOINT is expected, not %d; see --help", a->count);
}

bool arguments_read(Arguments *a, int argc, char **argv, Error *err) {
    Option options[MAX_OPTIONS];
    int first;
    uint64_t given;
    *a = defaults();
    const int count = list_options(options, a);
    if (!options_parse(options, count, argc, argv, &first, &given, err)) return false;
    a->checkpoints = argv + first;
    a->count = argc - first;
    if (!a->help && !a->version && !(read_precision(a, err) && check(a, options, given, err)))
        return false;
    if (!a->prompt) a->prompt = "";
    a->prompt_length = strlen(a->prompt);
    return true;
}

void arguments_print_options(void) {
    Option options[MAX_OPTIONS];
    Arguments usual = defaults();
    options_print(stdout, options, list_options(options, &usual));
}

/* ---- the checkpoint ---- */

bool arguments_checkpoint(const Arguments *a, int i, char path[PROGRAM_PATH], Error *err) {
    program_model(i < a->count ? a->checkpoints[i] : PROGRAM_OUT, path);
    return i < a->count || file_kind(path) != FILE_NONE ||
           fail(err,
                "%s: no such file; train a model first (./train FILE; installed, tril-train FILE "
                "or, by pip, tril train FILE), or name a checkpoint",
                path);
}

bool arguments_known(const TrilModel *model, const char *name, const char *text, size_t length,
                     Error *err) {
    size_t count;
    return tril_encode(tril_model_tokenizer(model), text, length, NULL, 0, &count, err) ==
               TRIL_OK ||
           message_of(err, name);
}
