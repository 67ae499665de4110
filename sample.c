/* sample.c - writes text with a trained model, or shows the model. */
#include "base/file.h"
#include "base/terminal.h"
#include "base/threads.h"
#include "library/message.h"
#include "library/tril.h"
#include "programs/program.h"
#include "programs/sample/arguments.h"
#include "programs/sample/dialogue.h"
#include "programs/sample/inspect.h"
#include "programs/sample/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes `samples` texts with a line between them. */
static bool write_samples(const TrilModel *model, const Arguments *a, Error *err) {
    Writer *writer;
    if (!writer_open(&writer, model, &a->sampling, a->stop, err)) return false;
    bool ok = true;
    for (int i = 0; i < a->samples && ok; i++) {
        if (i > 0) {
            writer_end_line(writer);
            puts("----");
        }
        writer_begin(writer, i);
        if (a->prompt) writer_say(writer, a->prompt, strlen(a->prompt));
        ok = writer_continue(writer, a->length, NULL, err);
        writer_end_text(writer);
    }
    writer_close(writer);
    return ok;
}

static bool use_model(TrilModel *model, const Arguments *a, Error *err) {
    TrilError error;
    if (a->info) return inspect_file(model, a, err);
    if (a->export)
        return tril_model_export(model, a->export, a->precision ? a->precision : "f32", &error) ==
                   TRIL_OK ||
               message_take(err, &error, NULL);
    if (a->prompt && !writer_knows(model, "--prompt", a->prompt, strlen(a->prompt), err))
        return false;
    return a->interactive ? dialogue(model, a, err) : write_samples(model, a, err);
}

static bool run_program(const Arguments *a, Error *err) {
    TrilError error;
    TrilModel *model;
    if (a->explain) return inspect_steps(a, err) && file_flush_output(err);
    if (a->score) return inspect_score(a, err) && file_flush_output(err);
    const char *path = arguments_checkpoint(a, 0, err);
    if (!path) return false;
    if (tril_model_load(&model, path, &error) != TRIL_OK) return message_take(err, &error, NULL);
    bool ok = use_model(model, a, err) && file_flush_output(err);
    tril_model_free(model);
    return ok;
}

/* Warns if --threads exceeds the processors. The library uses no more threads than processors,
 * since others would only wait. */
static void say_threads(int asked) {
    int processors = threads_processors();
    int max = processors < TRIL_MAX_THREADS ? processors : TRIL_MAX_THREADS;
    if (asked > max)
        fprintf(stderr, "sample: -j %d: only %d processors are available; uses %d threads\n", asked,
                max, max);
}

int main(int argc, char **argv) {
    Arguments arguments;
    Error err = {0};
    terminal_prepare(&argc, &argv);
    if (!arguments_read(&arguments, argc, argv, &err))
        return program_failed("sample", EXIT_USAGE, &err);
    if (arguments.help) {
        program_usage(
            *argv, " [options] [CHECKPOINT]\n\n"
                   "Writes text with the model in CHECKPOINT (out/model.safetensors): a file\n"
                   "that tril trained, or a folder of Hugging Face transformers.\n"
                   "A text may be longer than the model's context: whenever the context is full,\n"
                   "the model forgets all but its last quarter (or 16th).");
        arguments_print_options(stdout);
        return EXIT_SUCCESS;
    }
    if (arguments.version) return program_version();
    say_threads(arguments.sampling.threads);
    return run_program(&arguments, &err) ? EXIT_SUCCESS
                                         : program_failed("sample", EXIT_FAILURE, &err);
}
