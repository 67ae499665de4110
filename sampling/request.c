#include "sampling/request.h"
#include "base/options.h"

#include <string.h>

enum { MAX_OPTIONS = 32 };

static const SampleRequest defaults = {.checkpoint = "out/model.safetensors",
                                       .length = 500,
                                       .samples = 1,
                                       .head = -1,
                                       .sampler = {.temperature = 0.8, .top_p = 1, .seed = 1337}};

/* One table, longer than a screen. The values are members of the request, and *precision. */
static int list_options(Option options[MAX_OPTIONS], SampleRequest *r, const char **precision) {
    Sampler *s = &r->sampler;
    const Option rows[] = {
        {.kind = OPTION_SECTION, .help = "What to write"},
        {'n', "length", OPTION_INT, &r->length, 1, 1e9, "N",
         "characters to write after the prompt"},
        {'p', "prompt", OPTION_TEXT, &r->prompt, 0, 0, "TEXT", "what the text begins with"},
        {0, "samples", OPTION_INT, &r->samples, 1, 1e6, "N",
         "texts to write, with a line of ---- between them"},
        {0, "stop", OPTION_TEXT, &r->stop, 0, 0, "TEXT", "end a text once it has written TEXT"},
        {'i', "interactive", OPTION_FLAG, &r->interactive, 0, 0, NULL,
         "write in turns: type a line, read how it goes on"},
        {.kind = OPTION_SECTION, .help = "How to choose each character"},
        {'t', "temperature", OPTION_REAL, &s->temperature, 0, 100, "X",
         "higher is bolder; 0 always takes the likeliest"},
        {'k', "top-k", OPTION_INT, &s->top_k, 0, 1e7, "N", "among the N likeliest only; 0: all"},
        {'P', "top-p", OPTION_REAL, &s->top_p, 1e-9, 1, "X",
         "among the likeliest that make up this probability"},
        {0, "seed", OPTION_SEED, &s->seed, 0, 0, "N", "another seed, another text"},
        {.kind = OPTION_SECTION, .help = "Instead of writing"},
        {0, "score", OPTION_TEXT, &r->score, 0, 0, "FILE", "how well the model predicts a text"},
        {0, "explain", OPTION_TEXT, &r->explain, 0, 0, "TEXT",
         "attention step by step: what each character of TEXT listens to"},
        {0, "layer", OPTION_INT, &r->layer, 0, MAX_LAYERS - 1, "N", "... in this layer, from 0"},
        {0, "head", OPTION_INT, &r->head, 0, MAX_WIDTH, "N",
         "... and this head; default: a map of all"},
        {0, "export", OPTION_TEXT, &r->export, 0, 0, "DIR",
         "write the model as a new folder for Hugging Face transformers"},
        {0, "info", OPTION_FLAG, &r->info, 0, 0, NULL, "what is in the checkpoint"},
        {.kind = OPTION_SECTION, .help = "Other"},
        {'j', "threads", OPTION_INT, &r->threads, 1, MAX_THREADS, "N",
         "threads, which do not change the text; default: one for each processor"},
        {0, "precision", OPTION_TEXT, precision, 0, 0, "NAME",
         "of the weights: f32 or bf16; default: bf16, and f32 for --score"},
        {'h', "help", OPTION_FLAG, &r->help, 0, 0, NULL, "print this"},
        {0, "version", OPTION_FLAG, &r->version, 0, 0, NULL, "print the version"},
    };
    _Static_assert(sizeof rows / sizeof *rows <= MAX_OPTIONS, "MAX_OPTIONS is too small");
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* Reading weights from memory takes most of the time of generation. bf16 halves it. */
static bool read_precision(SampleRequest *r, const char *name, Error *err) {
    r->weights = r->score ? FLOAT32 : BF16_WEIGHTS;
    if (!name) return true;
    r->weights = strcmp(name, "bf16") == 0 ? BF16_WEIGHTS : FLOAT32;
    return r->weights == BF16_WEIGHTS || strcmp(name, "f32") == 0 ||
           fail(err, "--precision is f32 or bf16, not '%s'", name);
}

static bool check(const SampleRequest *r, int operands, Error *err) {
    int instead = !!r->score + !!r->explain + !!r->export + r->info;
    if (operands > 1) return fail(err, "one CHECKPOINT is expected, not %d; see --help", operands);
    return instead <= 1 ||
           fail(err, "--score, --explain, --export and --info: one of them at a time");
}

bool sample_request_read(SampleRequest *request, int argc, char **argv, Error *err) {
    Option options[MAX_OPTIONS];
    const char *precision = NULL;
    int first;
    *request = defaults;
    int count = list_options(options, request, &precision);
    if (!options_parse(options, count, argc, argv, &first, err)) return false;
    if (request->help || request->version) return true;
    if (first < argc) request->checkpoint = argv[first];
    return check(request, argc - first, err) && read_precision(request, precision, err);
}

void sample_request_print_options(FILE *out) {
    Option options[MAX_OPTIONS];
    SampleRequest usual = defaults;
    const char *precision = NULL;
    options_print(out, options, list_options(options, &usual, &precision));
}
