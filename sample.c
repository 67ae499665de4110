/* sample.c - writes text with a trained model, or says how well it predicts one. */
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/data.h"
#include "exchange/trained.h"
#include "model/model.h"
#include "report/screen.h"
#include "report/walk.h"
#include "sampling/dialogue.h"
#include "version.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

typedef struct {
    const char *checkpoint, *prompt, *stop, *score, *explain, *export, *precision;
    Precision multiply_in;
    int length, samples, threads, layer, head;
    Sampler sampler;
    bool interactive, info, help, version;
} Settings;

/* ---- generation ---- */

static bool generate(const Settings *s, Checkpoint *checkpoint, const Vocab *vocab, Error *err) {
    const WriterOptions options = {
        .sampler = s->sampler, .stop = s->stop, .threads = s->threads, .precision = s->multiply_in};
    Writer *writer = NULL;
    int32_t *prompt = NULL;
    size_t prompt_length = 0;
    if (s->prompt && !vocab_encode(vocab, "--prompt", s->prompt, strlen(s->prompt), &prompt,
                                   &prompt_length, err))
        return false;
    bool ok = s->interactive ? dialogue(&checkpoint->model, vocab, &options, prompt, prompt_length,
                                        s->length, err)
                             : writer_open(&writer, &checkpoint->model, vocab, &options, err);
    for (int i = 0; i < s->samples && writer; i++) {
        if (i > 0) {
            writer_end_line(writer);
            puts("----");
        }
        writer_begin(writer, i);
        writer_say(writer, prompt, prompt_length);
        writer_go_on(writer, s->length, NULL);
        writer_end_text(writer);
    }
    writer_close(writer);
    memory_free(prompt);
    return ok;
}

/* ---- score and info ---- */

static bool score(const Settings *s, Checkpoint *checkpoint, const Vocab *vocab, Error *err) {
    enum { WINDOWS = 16 }; /* at a time */
    char *text;
    size_t length, count;
    int32_t *ids = NULL;
    Run *run = NULL;
    if (!file_read(s->score, &text, &length, err)) return false;
    RunOptions options = {.batch = WINDOWS,
                          .length = checkpoint->model.config.T,
                          .frozen = true,
                          .threads = s->threads,
                          .precision = s->multiply_in};
    bool ok = vocab_encode(vocab, s->score, text, length, &ids, &count, err) &&
              (count >= 2 || fail(err, "%s: too short: a score needs two characters", s->score)) &&
              run_open(&run, &checkpoint->model, &options, err);
    if (ok) {
        double nats = run_evaluate(run, ids, count, 1);
        printf("characters %zu\nnats_per_char %.6f\nbits_per_char %.6f\nperplexity %.4f\n", count,
               nats, nats / log(2.0), exp(nats));
    }
    run_close(run);
    memory_free(ids);
    memory_free(text);
    return ok;
}

/* ---- a look inside ---- */

static bool explain(const Settings *s, Checkpoint *checkpoint, const Vocab *vocab, Error *err) {
    int T = checkpoint->model.config.T;
    size_t count;
    int32_t *ids;
    if (!vocab_encode(vocab, "--explain", s->explain, strlen(s->explain), &ids, &count, err))
        return false;
    Screen screen = screen_of(stdout);
    bool ok =
        (count > 0 || fail(err, "--explain wants a text of a character or more")) &&
        (count <= (size_t)T ||
         fail(err, "--explain: a text of %zu characters is longer than the context of %d", count,
              T)) &&
        walk_attention(&screen, &checkpoint->model, vocab, ids, (int)count, s->layer, s->head, err);
    memory_free(ids);
    return ok;
}

static void print_note(const Checkpoint *checkpoint, const char *key) {
    const Note *note = checkpoint_note(checkpoint, key);
    if (!note) return;
    printf("%-16s ", key);
    escape_line(stdout, note->value, note->length);
    putchar('\n');
}

static void print_info(const Checkpoint *checkpoint, const Vocab *vocab) {
    const Model *model = &checkpoint->model;
    const Config *c = &model->config;
    printf("%-16s %s\n%-16s %zu\n", "model", c->model, "parameters", model->parameters);
    printf("%-16s %d\n%-16s %d\n%-16s %d\n%-16s %d\n%-16s %g\n", "layers", c->L, "heads", c->NH,
           "width", c->C, "context", c->T, "dropout", c->dropout);
    static const char *const keys[] = {"step", "seed", "validation_loss", "best_loss"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) print_note(checkpoint, keys[i]);
    printf("%-16s %d %s\n", "vocabulary", vocab->size, vocab->bytes ? "byte values" : "characters");
    if (!vocab->bytes) {
        for (int id = 0; id < vocab->size; id++) {
            char text[UTF8_MAX];
            escape_line(stdout, text, (size_t)vocab_text(vocab, id, text));
        }
        putchar('\n');
    }
    puts("tensors");
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        printf("  %-44s %d", tensor->name, tensor->shape[0]);
        if (tensor->rank == 2) printf(" x %d", tensor->shape[1]);
        putchar('\n');
    }
}

/* ---- the command line ---- */

static bool run_program(const Settings *s, Error *err) {
    Trained trained;
    bool ok = true;
    if (!trained_load(&trained, s->checkpoint, err)) return false;
    if (s->info)
        print_info(&trained.checkpoint, &trained.vocab);
    else if (s->explain)
        ok = explain(s, &trained.checkpoint, &trained.vocab, err);
    else if (s->score)
        ok = score(s, &trained.checkpoint, &trained.vocab, err);
    else if (s->export)
        ok = trained_export(&trained, s->export, err);
    else
        ok = generate(s, &trained.checkpoint, &trained.vocab, err);
    ok = ok && file_flush_output(err);
    trained_free(&trained);
    return ok;
}

/* Making text is bound by the memory that the weights take: it reads them rounded. */
static bool read_precision(Settings *s, Error *err) {
    s->multiply_in = s->score ? FLOAT32 : NARROW;
    if (!s->precision) return true;
    s->multiply_in = strcmp(s->precision, "bf16") == 0 ? NARROW : FLOAT32;
    return s->multiply_in == NARROW || strcmp(s->precision, "f32") == 0 ||
           fail(err, "--precision is f32 or bf16, not '%s'", s->precision);
}

/* What is done instead of writing is done alone. */
static bool check_purpose(const Settings *s, Error *err) {
    int purposes = !!s->score + !!s->explain + !!s->export + s->info;
    return purposes <= 1 ||
           fail(err, "--score, --explain, --export and --info: one of them at a time");
}

/* Threads beyond the processors would only wait, and change nothing. */
static void take_threads(Settings *s) {
    int most = run_most_threads();
    if (s->threads > most)
        fprintf(stderr, "sample: -j %d: this program may use %d processors, and takes %d threads\n",
                s->threads, most, most);
    if (s->threads == 0) s->threads = run_default_threads();
    if (s->threads > most) s->threads = most;
}

static int usage_error(const Error *err) {
    fprintf(stderr, "sample: %s\n", err->text);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    file_hold_standard_streams();
    screen_prepare();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a file that cannot be written */
    Settings s = {.checkpoint = "out/model.safetensors",
                  .length = 500,
                  .samples = 1,
                  .head = ALL_HEADS,
                  .sampler = {.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1337}};
    Sampler *p = &s.sampler;
    const Option options[] = {
        {.kind = OPTION_SECTION, .help = "What to write"},
        {'n', "length", OPTION_INT, &s.length, 1, 1e9, "N", "characters to write after the prompt"},
        {'p', "prompt", OPTION_TEXT, &s.prompt, 0, 0, "TEXT", "what the text begins with"},
        {0, "samples", OPTION_INT, &s.samples, 1, 1e6, "N",
         "texts to write, with a line of ---- between them"},
        {0, "stop", OPTION_TEXT, &s.stop, 0, 0, "TEXT", "end a text once it has written TEXT"},
        {'i', "interactive", OPTION_FLAG, &s.interactive, 0, 0, NULL,
         "write in turns: type a line, read how it goes on"},
        {.kind = OPTION_SECTION, .help = "How to choose each character"},
        {'t', "temperature", OPTION_REAL, &p->temperature, 0, 100, "X",
         "higher is bolder; 0 always takes the likeliest"},
        {'k', "top-k", OPTION_INT, &p->top_k, 0, 1e7, "N", "among the N likeliest only; 0: all"},
        {'P', "top-p", OPTION_REAL, &p->top_p, 1e-9, 1, "X",
         "among the likeliest that make up this probability"},
        {0, "seed", OPTION_SEED, &p->seed, 0, 0, "N", "another seed, another text"},
        {.kind = OPTION_SECTION, .help = "Instead of writing"},
        {0, "score", OPTION_TEXT, &s.score, 0, 0, "FILE", "how well the model predicts a text"},
        {0, "explain", OPTION_TEXT, &s.explain, 0, 0, "TEXT",
         "attention step by step: what each character of TEXT listens to"},
        {0, "layer", OPTION_INT, &s.layer, 0, MAX_LAYERS - 1, "N", "... in this layer, from 0"},
        {0, "head", OPTION_INT, &s.head, 0, MAX_WIDTH, "N",
         "... and this head; default: a map of all"},
        {0, "export", OPTION_TEXT, &s.export, 0, 0, "DIR",
         "write the model as a new folder for Hugging Face transformers"},
        {0, "info", OPTION_FLAG, &s.info, 0, 0, NULL, "what is in the checkpoint"},
        {.kind = OPTION_SECTION, .help = "Else"},
        {'j', "threads", OPTION_INT, &s.threads, 1, MAX_THREADS, "N",
         "threads, which do not change the text; default: one for each processor"},
        {0, "precision", OPTION_TEXT, &s.precision, 0, 0, "NAME",
         "of the weights: f32 or bf16; default: bf16, and f32 for --score"},
        {'h', "help", OPTION_FLAG, &s.help, 0, 0, NULL, "print this"},
        {0, "version", OPTION_FLAG, &s.version, 0, 0, NULL, "print the version"},
    };
    int count = sizeof options / sizeof *options, first;
    Error err = {0};
    Settings defaults = s;
    if (!options_parse(options, count, argc, argv, &first, &err)) return usage_error(&err);
    if (s.help) {
        s = defaults;
        fputs("Usage: ", stdout);
        escape_string(stdout, *argv);
        printf(" [options] [CHECKPOINT]\n\n"
               "Writes text with the model in CHECKPOINT (%s),\na file of tril-train or "
               "a folder of Hugging Face transformers.\nA text may grow beyond the model's "
               "context: each time it is full, the older half is\nforgotten and the newer half "
               "read again.\n",
               s.checkpoint);
        options_print(stdout, options, count);
        return EXIT_SUCCESS;
    }
    if (s.version) {
        printf("tril %s\n", TRIL_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc - first > 1) {
        fail(&err, "one CHECKPOINT is expected, not %d; see --help", argc - first);
        return usage_error(&err);
    }
    if (first < argc) s.checkpoint = argv[first];
    take_threads(&s);
    if (!check_purpose(&s, &err) || !read_precision(&s, &err)) return usage_error(&err);
    if (run_program(&s, &err)) return EXIT_SUCCESS;
    fflush(stdout);
    fprintf(stderr, "sample: %s\n", err.text);
    return EXIT_FAILURE;
}
