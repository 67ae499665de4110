/* sample.c - writes text with a trained model, or shows the model. */
#include "base/file.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "library/tril.h"
#include "programs/common.h"
#include "programs/sample/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts that are printed as they are generated. */
typedef struct {
    const Arguments *arguments;
    Printer printer;
    size_t begun;
    Copies copies;
} TextPrinter;

/* Prints the prompt of the next text, after a line that divides it from the text before. */
static void begin_text(TextPrinter *texts) {
    const Arguments *a = texts->arguments;
    if (texts->begun++ > 0) {
        printer_end_line(&texts->printer);
        puts("----");
        texts->printer.count = 0; /* the text before may end within a character */
    }
    if (!a->quiet) printer_put(&texts->printer, a->prompt, a->prompt_length);
}

/* Prints a part of a text. */
static int show_text(size_t number, const char *text, size_t length, bool ended, void *user) {
    TextPrinter *texts = user;
    if (number == texts->begun) begin_text(texts);
    printer_put(&texts->printer, text, length);
    if (texts->arguments->copied) copies_take(&texts->copies, text, length, ended);
    if (ended) printer_end(&texts->printer);
    return ferror(stdout);
}

static bool write_texts(const TrilModel *model, const Arguments *a, Error *err) {
    TrilSampling sampling = a->sampling;
    TextPrinter texts = {.arguments = a, .printer = printer_of(model)};
    sampling.length = (size_t)a->length;
    bool ok = !a->copied || copies_open(&texts.copies, model, a->copied, err);
    if (ok) {
        begin_text(&texts);
        const TrilStatus status = tril_generate(model, a->prompt, a->prompt_length, &sampling,
                                                (size_t)a->samples, show_text, &texts, err);
        printer_end(&texts.printer);
        ok = status == TRIL_OK || status == TRIL_STOPPED;
    }
    ok = ok && (!a->copied || (file_flush_output(err) && copies_show(&texts.copies, err)));
    copies_close(&texts.copies);
    return ok;
}

/* Fails if no text of the model has the stop text: line ends are newlines, except in bytes. */
static bool can_stop(const TrilModel *model, const char *stop, Error *err) {
    return tril_model_tokenizer(model)->bytes || !strchr(stop, '\r') ||
           fail(err, "--stop: has a carriage return, but lines end with a newline alone");
}

/* Reads the prompt_file of the arguments, and writes with the model. */
static bool write_with(const TrilModel *model, Arguments *a, Error *err) {
    const char *stop = a->sampling.stop, *source = "--prompt";
    char *prompt = NULL;
    if (a->prompt_file) {
        if (!program_read(a->prompt_file, &prompt, &a->prompt_length, err)) return false;
        source = program_source(a->prompt_file);
        a->prompt = prompt;
    }
    const bool ok = arguments_known(model, source, a->prompt, a->prompt_length, err) &&
                    (!stop || (arguments_known(model, "--stop", stop, strlen(stop), err) &&
                               can_stop(model, stop, err))) &&
                    (a->interactive ? dialogue(model, a, err) : write_texts(model, a, err));
    memory_free(prompt);
    return ok;
}

/* Does what the arguments say. */
static bool run_program(Arguments *a, Error *err) {
    TrilModel *model;
    char path[PROGRAM_PATH];
    if (a->score) return inspect_score(a, err);
    if (!arguments_checkpoint(a, 0, path, err) || tril_model_load(&model, path, err) != TRIL_OK)
        return false;
    bool ok = true;
    if (a->info)
        inspect_file(model, path);
    else
        ok = a->explain ? explain_text(model, a, err) : write_with(model, a, err);
    tril_model_free(model);
    return ok && file_flush_output(err);
}

int main(int argc, char **argv) {
    Arguments arguments;
    Error err = {0};
    terminal_prepare(&argc, &argv);
    if (!arguments_read(&arguments, argc, argv, &err))
        return program_failed("sample", EXIT_USAGE, &err);
    if (arguments.help) {
        program_usage(
            *argv, "[options] [CHECKPOINT]",
            "Writes text with the model in CHECKPOINT, a file or the folder of a run (" PROGRAM_OUT
            "). When the context is full, only its last eighth stays.");
        arguments_print_options();
        return program_printed("sample");
    }
    if (arguments.version) return program_version("sample");
    return run_program(&arguments, &err) ? EXIT_SUCCESS
                                         : program_failed("sample", EXIT_FAILURE, &err);
}
