/* sample.c - writes text with a trained model, or says how well it predicts one. */
#include "base/escape.h"
#include "base/file.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "base/threads.h"
#include "base/width.h"
#include "library/tril.h"
#include "programs/sample/checkpoint.h"
#include "programs/sample/dialogue.h"
#include "programs/sample/explaining.h"
#include "programs/sample/info.h"
#include "library/message.h"
#include "programs/sample/request.h"
#include "programs/sample/score.h"
#include "library/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

/* ---- generation ---- */

/* Writes `samples` texts with a line between them. */
static void write_samples(Writer *writer, const SampleRequest *r, const char *prompt) {
    for (int i = 0; i < r->samples; i++) {
        if (i > 0) {
            writer_end_line(writer);
            puts("----");
        }
        writer_begin(writer, i);
        writer_say(writer, prompt, strlen(prompt));
        writer_go_on(writer, r->length, NULL);
        writer_end_text(writer);
    }
}

static bool generate(const SampleRequest *r, const TrilModel *model, Error *err) {
    const char *prompt = r->prompt ? r->prompt : "";
    Writer *writer;
    if (!message_knows(model, "--prompt", prompt, strlen(prompt), err)) return false;
    if (r->interactive) return dialogue(model, &r->sampling, r->stop, prompt, r->length, err);
    if (!writer_open(&writer, model, &r->sampling, r->stop, err)) return false;
    write_samples(writer, r, prompt);
    writer_close(writer);
    return true;
}

/* ---- score ---- */

static bool score(const SampleRequest *r, const TrilModel *model, Error *err) {
    const TrilScoring scoring = {r->unknown, r->sampling.precision, r->sampling.threads};
    TrilScore score;
    if (!score_file(&score, r->score, model, &scoring, err)) return false;
    printf("characters %zu\nunknown %zu\nnats_per_char %.6f\nbits_per_char %.6f\nperplexity %.4f\n",
           score.characters, score.unknown, score.nats, score.nats / log(2.0), exp(score.nats));
    return true;
}

/* ---- the program ---- */

/* What needs a model of the library. */
static bool use_model(const SampleRequest *r, const char *path, Error *err) {
    TrilError error;
    TrilModel *model;
    if (tril_model_load(&model, path, &error) != TRIL_OK) return message_take(err, &error, NULL);
    bool ok = r->score    ? score(r, model, err)
              : r->export ? tril_model_export(model, r->export, r->stored, &error) == TRIL_OK ||
                                message_take(err, &error, NULL)
                          : generate(r, model, err);
    tril_model_free(model);
    return ok;
}

static bool run_program(const SampleRequest *r, Error *err) {
    const char *path;
    if (r->explain) return explaining(r, err);
    if (!(path = checkpoint_path(r, 0, err))) return false;
    bool ok = r->info ? info_print(path, err) : use_model(r, path, err);
    return ok && file_flush_output(err);
}

/* The library, too, takes no more threads than processors: others would only wait. */
static void say_threads(int asked) {
    int processors = threads_processors();
    int max = processors < TRIL_MAX_THREADS ? processors : TRIL_MAX_THREADS;
    if (asked > max)
        fprintf(stderr, "sample: -j %d: this program may use %d processors, and takes %d threads\n",
                asked, max, max);
}

static int show_help(const char *program) {
    fputs("Usage: ", stdout);
    escape_string(stdout, program);
    puts(" [options] [CHECKPOINT]\n\n"
         "Writes text with the model in CHECKPOINT (out/model.safetensors): a file\nthat tril "
         "trained, or a folder of Hugging Face transformers.\nA text may grow beyond the model's "
         "context: each time it is full, all but\nits last quarter (or 16th) is forgotten.");
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
    say_threads(request.sampling.threads);
    return run_program(&request, &err) ? EXIT_SUCCESS : failed(EXIT_FAILURE, &err);
}
