#include "base/terminal.h"
#include "programs/common.h"
#include "programs/sample/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stopped;

/* Ctrl-C only stops the writing. */
static void on_signal(Signal which) {
    if (which == SIGNAL_INTERRUPT)
        stopped = 1;
    else
        signals_die(which);
}

typedef struct {
    const TrilModel *model;
    const Arguments *arguments;
    bool terminal; /* the user types */
    TrilWriter *text;
    char end; /* its last byte; a newline before the first */
    Printer printer;
} Dialogue;

/* Appends known characters. */
static void append(Dialogue *d, const char *text, size_t length) {
    if (!d->arguments->quiet) printer_put(&d->printer, text, length);
    tril_writer_append(d->text, text, length, &(TrilError){0});
    if (length > 0) d->end = text[length - 1];
}

/* Appends a line of input, on a new line if the vocabulary has a newline. An arrow key types an
 * escape sequence, which never becomes text. */
static bool take_line(Dialogue *d, const char *line, size_t length, Error *err) {
    if (d->terminal && memchr(line, '\033', length))
        return fail(
            err,
            "the line contains a key that cannot be used here; for arrow keys and a history, run: "
            "rlwrap ./sample -i");
    if (!arguments_known(d->model, "that line", line, length, err)) return false;
    if (length > 0) printer_end_line(&d->printer);
    if (length > 0 && d->end != '\n') tril_writer_append(d->text, "\n", 1, &(TrilError){0});
    append(d, line, length);
    return true;
}

/* Writes until the length, the stop text, Ctrl-C or a failure to print. */
static bool write_on(Dialogue *d, Error *err) {
    char text[UTF8_MAX];
    int bytes = 1;
    for (int i = 0; i < d->arguments->length && !ferror(stdout) && !stopped; i++) {
        bytes = tril_writer_write(d->text, text);
        if (bytes == 0) break;
        d->end = text[bytes - 1];
        printer_put(&d->printer, text, (size_t)bytes);
        if (tril_writer_stopped(d->text)) break;
    }
    printer_end(&d->printer);
    return bytes > 0 || fail(err, "the model has diverged: its predictions are not finite numbers");
}

/* Takes lines to the end of standard input, and continues each. */
static bool take_turns(Dialogue *d, Error *err) {
    char *line = NULL;
    size_t capacity = 0;
    bool ok = d->arguments->prompt_length == 0 || write_on(d, err);
    while (ok && !ferror(stdout)) {
        if (d->terminal) fputs("> ", stdout);
        fflush(stdout);
        const int64_t typed = terminal_read_line(&line, &capacity);
        if (typed < 0) {
            ok = errno == 0 || feof(stdin) ||
                 fail(err, "standard input cannot be read: %s", strerror(errno));
            break;
        }
        Error wrong;
        size_t length = (size_t)typed;
        if (length > 0 && line[length - 1] == '\n') length--;
        if (length > 0 && line[length - 1] == '\r') length--;
        stopped = 0;
        if (take_line(d, line, length, &wrong)) {
            ok = write_on(d, err);
        } else {
            program_failed("sample", EXIT_FAILURE, &wrong);
            fflush(stderr); /* before the next prompt: on Windows it has a buffer */
        }
    }
    free(line);
    return ok;
}

bool dialogue(const TrilModel *model, const Arguments *a, Error *err) {
    Dialogue d = {.model = model,
                  .arguments = a,
                  .terminal = terminal_is(stdin) && terminal_is(stdout),
                  .end = '\n',
                  .printer = printer_of(model)};
    if (tril_writer_open(&d.text, model, &a->sampling, err) != TRIL_OK) return false;
    if (d.terminal) {
        signals_catch(on_signal);
        program_words(stdout, 0, 0,
                      "Type the beginning of a text, then Enter. An empty line continues; Ctrl-C "
                      "stops the writing, Ctrl-D ends.");
    }
    append(&d, a->prompt, a->prompt_length);
    const bool ok = take_turns(&d, err);
    if (d.terminal) putchar('\n');
    tril_writer_close(d.text);
    return ok;
}
