#include "base/terminal.h"
#include "programs/common.h"
#include "programs/sample/sample.h"
#include "programs/sample/writer.h"

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

/* Appends a line of input to the text. An arrow key types an escape sequence, which never becomes
 * text. */
static bool say_line(Writer *writer, const TrilModel *model, const char *line, size_t length,
                     bool terminal, Error *err) {
    if (terminal && memchr(line, '\033', length))
        return fail(
            err,
            "the line contains a key that cannot be used here; for arrow keys and a history, run: "
            "rlwrap sample -i");
    if (!writer_knows(model, "that line", line, length, err)) return false;
    if (length > 0) writer_new_line(writer);
    writer_say(writer, line, length);
    return true;
}

bool dialogue(const TrilModel *model, const Arguments *a, Error *err) {
    const bool terminal = terminal_is(stdin) && terminal_is(stdout);
    const char *prompt = a->prompt ? a->prompt : "";
    char *line = NULL;
    size_t capacity = 0;
    Writer *writer;
    if (!writer_open(&writer, model, &a->sampling, err)) return false;
    if (terminal) {
        signals_catch(on_signal);
        program_words(stdout, 0, 0,
                      "Type the beginning of a text, then Enter. An empty line continues; Ctrl-C "
                      "stops the writing, Ctrl-D ends.");
    }
    writer_say(writer, prompt, strlen(prompt));
    bool ok = true;
    for (bool more = *prompt;;) {
        if (more) ok = writer_continue(writer, a->length, &stopped, err);
        if (more) writer_end_text(writer);
        if (!ok || ferror(stdout)) break;
        if (terminal) fputs("> ", stdout);
        if (terminal) fflush(stdout);
        const int64_t typed = terminal_read_line(&line, &capacity);
        if (typed < 0 && errno != 0 && !feof(stdin))
            ok = fail(err, "standard input cannot be read: %s", strerror(errno));
        if (typed < 0) break;
        Error wrong;
        stopped = 0;
        const size_t length = (size_t)typed - (typed > 0 && line[typed - 1] == '\n');
        line[length] = 0;
        more = say_line(writer, model, line, length, terminal, &wrong);
        if (!more) program_failed("sample", EXIT_FAILURE, &wrong);
        if (!more) fflush(stderr); /* before the next prompt: on Windows it has a buffer */
    }
    if (terminal) putchar('\n');
    free(line);
    writer_close(writer);
    return ok;
}
