/* sample.c - writes text with a trained model, or says how well it predicts one. */
#include "base/escape.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/memory.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "base/width.h"
#include "data/data.h"
#include "formats/trained.h"
#include "model/model.h"
#include "report/explain.h"
#include "report/screen.h"
#include "sampling/dialogue.h"
#include "sampling/request.h"
#include "sampling/score.h"
#include "version.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

/* ---- the model ---- */

/* Takes the number of a folder earlier-N that holds a model, if it is higher than *last. */
static void take_earlier(void *last, const char *name) {
    static const char prefix[] = "earlier-";
    const size_t begin = sizeof prefix - 1;
    int *highest = last;
    char path[64], *end;
    Error none;
    if (strncmp(name, prefix, begin) != 0) return;
    long number = strtol(name + begin, &end, 10);
    if (*end || number <= *highest || number > INT_MAX) return;
    snprintf(path, sizeof path, "out/earlier-%ld/model.safetensors", number);
    if (file_can_be_read(path, &none)) *highest = (int)number;
}

/* Reads model i of those that were named, or the usual one. If that is missing, the message says
 * where one may come from. */
static bool load(Trained *trained, const SampleRequest *r, int i, Error *err) {
    bool missing = r->checkpoint_count == 0 && !file_exists(r->checkpoint);
    int earlier = 0; /* the highest number of the folders out/earlier-N that hold a model */
    if (missing) filesystem_each("out", take_earlier, &earlier);
    if (earlier > 0)
        return fail(
            err,
            "%s: there is none; out/earlier-%d/model.safetensors is the model of an earlier "
            "training, name it to take it",
            r->checkpoint, earlier);
    if (missing)
        return fail(err, "%s: there is none; train one (train FILE), or name a checkpoint",
                    r->checkpoint);
    return trained_load(trained, i > 0 ? r->checkpoints[i] : r->checkpoint, err);
}

/* ---- generation ---- */

/* Writes `samples` texts with a line between them. */
static void write_samples(Writer *writer, const SampleRequest *r, const int32_t *prompt,
                          size_t prompt_length) {
    for (int i = 0; i < r->samples; i++) {
        if (i > 0) {
            writer_end_line(writer);
            puts("----");
        }
        writer_begin(writer, i);
        writer_say(writer, prompt, prompt_length);
        writer_go_on(writer, r->length, NULL);
        writer_end_text(writer);
    }
}

static bool generate(const SampleRequest *r, Checkpoint *checkpoint, const Vocab *vocab,
                     int threads, Error *err) {
    const WriterOptions options = {
        .sampler = r->sampler, .stop = r->stop, .threads = threads, .precision = r->weights};
    Writer *writer = NULL;
    int32_t *prompt = NULL;
    size_t prompt_length = 0;
    if (r->prompt && !vocab_encode(vocab, "--prompt", r->prompt, strlen(r->prompt), &prompt,
                                   &prompt_length, err))
        return false;
    bool ok = r->interactive ? dialogue(&checkpoint->model, vocab, &options, prompt, prompt_length,
                                        r->length, err)
                             : writer_open(&writer, &checkpoint->model, vocab, &options, err);
    if (writer) write_samples(writer, r, prompt, prompt_length);
    writer_close(writer);
    memory_free(prompt);
    return ok;
}

/* ---- score ---- */

static bool score(const SampleRequest *r, Checkpoint *checkpoint, const Vocab *vocab, int threads,
                  Error *err) {
    Score score;
    if (!score_file(&score, r->score, &checkpoint->model, vocab, r->unknown, threads, r->weights,
                    err))
        return false;
    printf("characters %zu\nunknown %zu\nnats_per_char %.6f\nbits_per_char %.6f\nperplexity %.4f\n",
           score.characters, score.unknown, score.nats, score.nats / log(2.0), exp(score.nats));
    return true;
}

/* ---- explain ---- */

enum { NAME = 4096 };

/* One of the models that --explain is about. */
typedef struct {
    Trained trained;
    int32_t *ids; /* the text in the model's ids */
    char name[NAME];
} Subject;

/* Encodes the text with the model's vocabulary. Of a text longer than the context, the end counts:
 * its last character is the one that predicts. */
static bool read_text(Subject *subject, const char *text, Explained *explained, Error *err) {
    Model *model = &subject->trained.checkpoint.model;
    const Vocab *vocab = &subject->trained.vocab;
    size_t count, T = (size_t)model->config.T;
    if (!vocab_encode(vocab, "--explain", text, strlen(text), &subject->ids, &count, err))
        return false;
    if (count == 0) return fail(err, "--explain wants a text of a character or more");
    size_t cut = count > T ? count - T : 0;
    *explained =
        (Explained){subject->name, model, vocab, subject->ids + cut, (int)(count - cut), (int)cut};
    return true;
}

/* Reads model i of those that were named, or the usual one, and the text. close_subject releases
 * it, also after a failure. A message about one of several models begins with its file. */
static bool open_subject(Subject *subject, const SampleRequest *r, int i, Explained *explained,
                         Error *err) {
    const char *path = i > 0 ? r->checkpoints[i] : r->checkpoint;
    Error own;
    escape_copy(subject->name, sizeof subject->name, path);
    if (!load(&subject->trained, r, i, err)) return false;
    if (read_text(subject, r->explain, explained, &own)) return true;
    *err = own;
    return r->checkpoint_count > 1 ? fail(err, "%s: %s", path, own.text) : false;
}

static void close_subject(Subject *subject) {
    memory_free(subject->ids);
    trained_free(&subject->trained);
}

static bool explain_all(const SampleRequest *r, const Explained *explained, int count, Error *err) {
    Screen screen = screen_of(stdout);
    if (r->html) return explain_page(r->html, explained, count, r->layer, r->head, err);
    if (count > 1) return explain_compare(&screen, explained, count, err);
    return explain(&screen, explained, r->layer, r->head, err);
}

/* Explains the text with one model, or compares the next characters of several. */
static bool explain_text(const SampleRequest *r, Error *err) {
    int count = r->checkpoint_count > 0 ? r->checkpoint_count : 1;
    Subject *subjects = NULL;
    Explained *explained = NULL;
    bool ok = memory_alloc(&subjects, (size_t)count, sizeof *subjects, "the models", err) &&
              memory_alloc(&explained, (size_t)count, sizeof *explained, "the models", err);
    for (int i = 0; i < count && ok; i++) ok = open_subject(&subjects[i], r, i, &explained[i], err);
    ok = ok && explain_all(r, explained, count, err) && file_flush_output(err);
    for (int i = 0; i < count && subjects; i++) close_subject(&subjects[i]);
    memory_free(subjects);
    memory_free(explained);
    return ok;
}

/* ---- info ---- */

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
    if (c->NKV > 0) printf("%-16s %d\n", "kv_heads", c->NKV);
    if (c->H > 0) printf("%-16s %d\n", "hidden", c->H);
    static const char *const keys[] = {"step", "seed", "validation_loss", "best_loss"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) print_note(checkpoint, keys[i]);
    printf("%-16s %016" PRIx64 "\n", "digest", model_digest(model));
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

/* ---- the program ---- */

static bool run_program(const SampleRequest *r, int threads, Error *err) {
    Trained trained;
    if (r->explain) return explain_text(r, err);
    if (!load(&trained, r, 0, err)) return false;
    Checkpoint *checkpoint = &trained.checkpoint;
    const Vocab *vocab = &trained.vocab;
    bool ok = true;
    if (r->info)
        print_info(checkpoint, vocab);
    else if (r->score)
        ok = score(r, checkpoint, vocab, threads, err);
    else if (r->export)
        ok = trained_export(&trained, r->export, gguf_type(r->stored), err);
    else
        ok = generate(r, checkpoint, vocab, threads, err);
    ok = ok && file_flush_output(err);
    trained_free(&trained);
    return ok;
}

/* Threads beyond the processors would only wait. */
static int choose_threads(int asked) {
    int max = run_max_threads();
    if (asked > max)
        fprintf(stderr, "sample: -j %d: this program may use %d processors, and takes %d threads\n",
                asked, max, max);
    int threads = asked > 0 ? asked : run_default_threads();
    return threads < max ? threads : max;
}

static int show_help(const char *program) {
    fputs("Usage: ", stdout);
    escape_string(stdout, program);
    puts(
        " [options] [CHECKPOINT]\n\n"
        "Writes text with the model in CHECKPOINT (out/model.safetensors),\na file of tril-train or "
        "a folder of Hugging Face transformers.\nA text may grow beyond the model's context: each "
        "time it is full, the older half is\nforgotten and the newer half read again.");
    sample_request_print_options(stdout);
    return EXIT_SUCCESS;
}

static int show_version(void) {
    printf("tril %s\n", TRIL_VERSION);
    return EXIT_SUCCESS;
}

static int failed(int status, const Error *err) {
    fflush(stdout);
    fprintf(stderr, "sample: %s\n", err->text);
    return status;
}

int main(int argc, char **argv) {
    SampleRequest request;
    Error err = {0};
    terminal_prepare(&argc, &argv);
    width_prepare();
    signals_ignore_limits();
    if (!sample_request_read(&request, argc, argv, &err)) return failed(EXIT_USAGE, &err);
    if (request.help) return show_help(*argv);
    if (request.version) return show_version();
    int threads = choose_threads(request.threads);
    return run_program(&request, threads, &err) ? EXIT_SUCCESS : failed(EXIT_FAILURE, &err);
}
