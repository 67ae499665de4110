/* sample.c - writes text with a trained model, or shows the model. */
#include "base/file.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "library/tril.h"
#include "programs/common.h"
#include "programs/sample/printer.h"
#include "programs/sample/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts that are printed as they are generated. */
typedef struct {
    const TrilModel *model;
    const Arguments *arguments;
    Printer printer;
    bool begun; /* the current text */
    Copies copies;
} TextPrinter;

/* Prints the prompt of text `number`, after a line that divides it from the text before. */
static void begin_text(TextPrinter *texts, size_t number) {
    if (number > 0) {
        printer_end_line(&texts->printer);
        puts("----");
    }
    texts->printer = printer_of(texts->model);
    const Arguments *a = texts->arguments;
    if (!a->quiet) printer_put(&texts->printer, a->prompt, a->prompt_length);
    texts->begun = true;
}

/* Prints a part of a text. */
static int show_text(size_t number, const char *text, size_t length, bool ended, void *user) {
    TextPrinter *texts = user;
    if (!texts->begun) begin_text(texts, number);
    printer_put(&texts->printer, text, length);
    if (texts->arguments->copied) copies_take(&texts->copies, text, length, ended);
    if (ended) printer_end(&texts->printer);
    texts->begun = !ended;
    return ferror(stdout);
}

/* Writes the texts. */
static bool write_texts(const TrilModel *model, const Arguments *a, Error *err) {
    TrilSampling sampling = a->sampling;
    TextPrinter texts = {.model = model, .arguments = a};
    sampling.length = (size_t)a->length;
    if (a->copied && !copies_open(&texts.copies, model, a->copied, err)) {
        copies_close(&texts.copies);
        return false;
    }
    begin_text(&texts, 0);
    TrilStatus status = tril_generate(model, a->prompt, a->prompt_length, &sampling,
                                      (size_t)a->samples, show_text, &texts, err);
    if (status != TRIL_OK && texts.begun) printer_end(&texts.printer);
    bool ok = status == TRIL_OK || status == TRIL_STOPPED;
    ok = ok && (!a->copied || (file_flush_output(err) && copies_show(&texts.copies, err)));
    copies_close(&texts.copies);
    return ok;
}

static bool use_model(TrilModel *model, const char *path, const Arguments *a, Error *err) {
    if (a->info) {
        inspect_file(model, path);
        return true;
    }
    const char *prompt = a->prompt_file ? program_source(a->prompt_file) : "--prompt";
    if (!arguments_known(model, prompt, a->prompt, a->prompt_length, err)) return false;
    const char *stop = a->sampling.stop;
    if (stop && !arguments_known(model, "--stop", stop, strlen(stop), err)) return false;
    return a->interactive ? dialogue(model, a, err) : write_texts(model, a, err);
}

/* Does what the arguments say. Reads their prompt_file. */
static bool run_program(Arguments *a, Error *err) {
    TrilModel *model;
    char *prompt = NULL;
    char path[PROGRAM_PATH];
    if (a->explain) return explain_text(a, err) && file_flush_output(err);
    if (a->score) return inspect_score(a, err);
    if (!arguments_checkpoint(a, 0, path, err)) return false;
    if (a->prompt_file && !program_read(a->prompt_file, &prompt, &a->prompt_length, err))
        return false;
    if (prompt) a->prompt = prompt;
    bool ok = tril_model_load(&model, path, err) == TRIL_OK && use_model(model, path, a, err) &&
              file_flush_output(err);
    tril_model_free(model);
    memory_free(prompt);
    return ok;
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
