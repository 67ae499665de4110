#include "programs/sample/request.h"
#include "base/array.h"
#include "base/options.h"

#include <string.h>

enum { MAX_OPTIONS = 32 };

static SampleRequest defaults(void) {
    const TrilSampling usual = tril_sampling();
    return (SampleRequest){.checkpoint = "out/model.safetensors",
                           .length = (int)usual.length,
                           .samples = 1,
                           .layer = -1,
                           .head = -1,
                           .sampling = usual};
}

/* Values that are read as words first. */
typedef struct {
    const char *precision, *unknown;
} Words;

/* One table, longer than a screen. The values are members of the request, and of *words. */
static int list_options(Option options[MAX_OPTIONS], SampleRequest *r, Words *words) {
    TrilSampling *s = &r->sampling;
    const Option rows[] = {
        {.kind = OPTION_SECTION, .help = "What to write"},
        {'n', "length", OPTION_INT, &r->length, 1, 1e9, "N",
         "characters to write after the prompt"},
        {'p', "prompt", OPTION_TEXT, &r->prompt, 0, 0, "TEXT", "what the text begins with"},
        {0, "samples", OPTION_INT, &r->samples, 1, 1e6, "N",
         "texts to write, with a line of ---- between them"},
        {0, "stop", OPTION_TEXT, &r->stop, 0, 0, "TEXT", "end a text once it has written TEXT"},
        {'i', "interactive", OPTION_FLAG, &r->interactive, 0, 0, NULL,
         "write in turns: type a line, read how it goes on; /help lists commands"},
        {.kind = OPTION_SECTION, .help = "How to choose each character"},
        {'t', "temperature", OPTION_REAL, &s->temperature, 0, 100, "X",
         "higher is bolder; 0 always takes the likeliest"},
        {'k', "top-k", OPTION_INT, &s->top_k, 0, 1e7, "N", "among the N likeliest only; 0: all"},
        {'P', "top-p", OPTION_REAL, &s->top_p, 1e-9, 1, "X",
         "among the likeliest that make up this probability"},
        {0, "seed", OPTION_SEED, &s->seed, 0, 0, "N", "another seed, another text"},
        {.kind = OPTION_SECTION, .help = "Instead of writing"},
        {0, "score", OPTION_PATH, &r->score, 0, 0, "FILE", "how well the model predicts a text"},
        {0, "unknown", OPTION_TEXT, &words->unknown, 0, 0, "HOW",
         "... with characters that it does not know: refuse (the default), skip or uniform"},
        {0, "explain", OPTION_TEXT, &r->explain, 0, 0, "TEXT",
         "how TEXT leads to the next character; of several CHECKPOINTs: what each expects"},
        {0, "layer", OPTION_INT, &r->layer, 0, TRIL_MAX_LAYERS - 1, "N",
         "... in numbers, through this layer, from 0; default: the one that matters most"},
        {0, "head", OPTION_INT, &r->head, 0, TRIL_MAX_WIDTH, "N",
         "... and this head; default: that one, and a map of all"},
        {0, "html", OPTION_PATH, &r->html, 0, 0, "FILE", "... as a page, a new file"},
        {0, "export", OPTION_PATH, &r->export, 0, 0, "PATH",
         "write the model as a new file PATH.gguf for llama.cpp, or as a new folder for Hugging "
         "Face transformers"},
        {0, "info", OPTION_FLAG, &r->info, 0, 0, NULL, "what is in the checkpoint"},
        {.kind = OPTION_SECTION, .help = "Other"},
        {'j', "threads", OPTION_INT, &s->threads, 1, TRIL_MAX_THREADS, "N",
         "threads, which do not change the text; default: one for each processor"},
        {0, "precision", OPTION_TEXT, &words->precision, 0, 0, "NAME",
         "of the weights: f32, bf16 or int8; default: int8, and f32 for --score; of a .gguf file: "
         "f32, f16 or q8_0; default: f32"},
        {'h', "help", OPTION_FLAG, &r->help, 0, 0, NULL, "print this"},
        {0, "version", OPTION_FLAG, &r->version, 0, 0, NULL, "print the version"},
    };
    _Static_assert(sizeof rows / sizeof *rows <= MAX_OPTIONS, "MAX_OPTIONS is too small");
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static bool read_precision(SampleRequest *r, const char *name, Error *err) {
    static const char *const names[] = {"f32", "bf16", "int8"};
    if (r->score) r->sampling.precision = tril_scoring().precision;
    r->stored = name ? name : names[0];
    if (!name || r->export) return true;
    for (int i = 0; i < COUNT(names); i++) {
        r->sampling.precision = names[i];
        if (strcmp(name, names[i]) == 0) return true;
    }
    return fail(err, "--precision is f32, bf16 or int8, not '%s'", name);
}

static bool read_unknown(SampleRequest *r, const char *name, Error *err) {
    static const char *const names[] = {
        [TRIL_REFUSE] = "refuse", [TRIL_SKIP] = "skip", [TRIL_UNIFORM] = "uniform"};
    if (!name) return true;
    if (!r->score) return fail(err, "--unknown is for --score");
    for (int i = TRIL_REFUSE; i <= TRIL_UNIFORM; i++) {
        r->unknown = (TrilUnknown)i;
        if (strcmp(name, names[i]) == 0) return true;
    }
    return fail(err, "--unknown is refuse, skip or uniform, not '%s'", name);
}

static bool check(const SampleRequest *r, Error *err) {
    int instead = !!r->score + !!r->explain + !!r->export + r->info + r->interactive;
    if (instead > 1)
        return fail(
            err, "--interactive, --score, --explain, --export and --info: one of them at a time");
    bool chosen = r->layer >= 0 || r->head >= 0;
    if (r->html && !r->explain) return fail(err, "--html is the page of --explain");
    if (chosen && !r->explain) return fail(err, "--layer and --head choose what --explain shows");
    if (r->checkpoint_count <= 1) return true;
    if (!r->explain)
        return fail(err, "one CHECKPOINT is expected, not %d; see --help", r->checkpoint_count);
    return !chosen ||
           fail(err, "--layer and --head are of one CHECKPOINT, not of %d", r->checkpoint_count);
}

bool sample_request_read(SampleRequest *request, int argc, char **argv, Error *err) {
    Option options[MAX_OPTIONS];
    Words words = {NULL, NULL};
    int first;
    *request = defaults();
    int count = list_options(options, request, &words);
    if (!options_parse(options, count, argc, argv, &first, err)) return false;
    if (request->help || request->version) return true;
    request->checkpoints = argv + first;
    request->checkpoint_count = argc - first;
    if (first < argc) request->checkpoint = argv[first];
    return check(request, err) && read_unknown(request, words.unknown, err) &&
           read_precision(request, words.precision, err);
}

void sample_request_print_options(FILE *out) {
    Option options[MAX_OPTIONS];
    SampleRequest usual = defaults();
    Words words = {NULL, NULL};
    options_print(out, options, list_options(options, &usual, &words));
}
