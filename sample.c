/* sample.c - writes text with a trained model, or says how well it predicts one. */
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/data.h"
#include "formats/trained.h"
#include "model/model.h"
#include "report/explain.h"
#include "report/screen.h"
#include "sampling/dialogue.h"
#include "sampling/request.h"
#include "version.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

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
    enum { WINDOWS = 16 }; /* in a batch */
    char *text;
    size_t length, count;
    int32_t *ids = NULL;
    Run *run = NULL;
    if (!file_read(r->score, &text, &length, err)) return false;
    RunOptions options = {.batch = WINDOWS,
                          .length = checkpoint->model.config.T,
                          .frozen = true,
                          .threads = threads,
                          .precision = r->weights};
    bool ok = vocab_encode(vocab, r->score, text, length, &ids, &count, err) &&
              (count >= 2 || fail(err, "%s: too short: a score needs two characters", r->score)) &&
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

/* ---- explain ---- */

static bool explain(const SampleRequest *r, Checkpoint *checkpoint, const Vocab *vocab,
                    Error *err) {
    int T = checkpoint->model.config.T;
    size_t count;
    int32_t *ids;
    if (!vocab_encode(vocab, "--explain", r->explain, strlen(r->explain), &ids, &count, err))
        return false;
    Screen screen = screen_of(stdout);
    bool ok = (count > 0 || fail(err, "--explain wants a text of a character or more")) &&
              (count <= (size_t)T ||
               fail(err, "--explain: a text of %zu characters is longer than the context of %d",
                    count, T)) &&
              explain_attention(&screen, &checkpoint->model, vocab, ids, (int)count, r->layer,
                                r->head, err);
    memory_free(ids);
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

/* ---- the program ---- */

static bool run_program(const SampleRequest *r, int threads, Error *err) {
    Trained trained;
    if (!trained_load(&trained, r->checkpoint, err)) return false;
    Checkpoint *checkpoint = &trained.checkpoint;
    const Vocab *vocab = &trained.vocab;
    bool ok = true;
    if (r->info)
        print_info(checkpoint, vocab);
    else if (r->explain)
        ok = explain(r, checkpoint, vocab, err);
    else if (r->score)
        ok = score(r, checkpoint, vocab, threads, err);
    else if (r->export)
        ok = trained_export(&trained, r->export, err);
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
    file_hold_standard_streams();
    screen_prepare();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of writing */
    if (!sample_request_read(&request, argc, argv, &err)) return failed(EXIT_USAGE, &err);
    if (request.help) return show_help(*argv);
    if (request.version) return show_version();
    int threads = choose_threads(request.threads);
    return run_program(&request, threads, &err) ? EXIT_SUCCESS : failed(EXIT_FAILURE, &err);
}
