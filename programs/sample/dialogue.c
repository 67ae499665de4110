#include "base/terminal.h"
#include "library/message.h"
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

/* Reads one line without its newline. Returns false at the end of the input. */
static bool read_line(char **line, size_t *capacity, size_t *length, bool terminal) {
    if (terminal) fputs("> ", stdout);
    if (terminal) fflush(stdout);
    const int64_t count = terminal_read_line(line, capacity);
    if (count < 0 && terminal) putchar('\n');
    if (count < 0) return false;
    *length = (size_t)count - (count > 0 && (*line)[count - 1] == '\n');
    return true;
}

/* A text that the user and the model take turns to write. */
typedef struct {
    const TrilModel *model;
    Writer *writer;
    Arguments now; /* with the settings that commands have changed */
    int texts;     /* begun so far */
    bool terminal;
} Dialogue;

/* Carries out a command, a line without its slash. */
static bool obey(Dialogue *d, const char *line, Error *err) {
    char name[128] = "", value[128] = "", rest[2] = "";
    int count = sscanf(line, "%127s %127s %1s", name, value, rest);
    bool fresh = strcmp(name, "new") == 0, help = strcmp(name, "help") == 0;
    if (count > (fresh || help ? 1 : 2)) return fail(err, "/%.60s: too many arguments", name);
    if (fresh) {
        writer_begin(d->writer, d->texts++);
    } else if (help) {
        puts("  /new              begin a new text");
        arguments_print_settings(&d->now);
        puts("  /help             print this list\n  //TEXT            write the line /TEXT");
    } else {
        if (!arguments_set(&d->now, name, value, err)) return false;
        writer_set(d->writer, &d->now.sampling);
    }
    return true;
}

/* Takes a line of input. Sets *more to whether the model should continue. */
static bool take_line(Dialogue *d, const char *line, size_t length, bool *more, Error *err) {
    *more = false;
    if (d->terminal && memchr(line, '\033', length))
        return fail(
            err,
            "the line contains a key that cannot be used here; for arrow keys and a history, run: "
            "rlwrap sample -i");
    if (line[0] == '/' && line[1] != '/') return obey(d, line + 1, err);
    if (line[0] == '/') line++, length--;
    if (!writer_knows(d->model, "that line", line, length, err)) return false;
    if (length > 0) {
        writer_new_line(d->writer);
        writer_say(d->writer, line, length);
    }
    *more = true;
    return true;
}

static bool continue_text(Dialogue *d, Error *err) {
    bool ok = writer_continue(d->writer, d->now.length, &stopped, err);
    writer_end_text(d->writer);
    return ok;
}

static bool take_turns(Dialogue *d, Error *err) {
    const char *prompt = d->now.prompt ? d->now.prompt : "";
    char *line = NULL;
    size_t capacity = 0, typed;
    writer_say(d->writer, prompt, strlen(prompt));
    bool ok = !*prompt || continue_text(d, err), more;
    while (ok && !ferror(stdout) && read_line(&line, &capacity, &typed, d->terminal)) {
        Error wrong;
        stopped = 0;
        line[typed] = 0; /* replaces the newline, or follows the last character */
        if (!take_line(d, line, typed, &more, &wrong)) {
            program_failed("sample", EXIT_FAILURE, &wrong);
            fflush(stderr); /* before the next prompt: on Windows it has a buffer */
        }
        if (more) ok = continue_text(d, err);
    }
    int reason = errno;
    free(line);
    if (!ok) return false;
    return ferror(stdout) || feof(stdin) || reason == 0 ||
           fail(err, "standard input cannot be read: %s", strerror(reason));
}

bool dialogue(const TrilModel *model, const Arguments *arguments, Error *err) {
    Dialogue d = {.model = model, .now = *arguments, .texts = 1};
    d.terminal = terminal_is(stdin) && terminal_is(stdout);
    if (d.terminal) {
        signals_catch(on_signal);
        program_words(stdout, 0, 0,
                      "Type the beginning of a text, then Enter. An empty line continues; /help "
                      "lists commands; Ctrl-C stops the writing, Ctrl-D ends.");
    }
    bool ok =
        writer_open(&d.writer, model, &d.now.sampling, d.now.stop, err) && take_turns(&d, err);
    writer_close(d.writer);
    return ok;
}
