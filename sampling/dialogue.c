#include "sampling/dialogue.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

/* Is interruption to be let through now, or to wait? */
static void let_through(bool now) {
    sigset_t interruption;
    sigemptyset(&interruption);
    sigaddset(&interruption, SIGINT);
    sigprocmask(now ? SIG_UNBLOCK : SIG_BLOCK, &interruption, NULL);
}

/* Waits for a line on the terminal; false if there is an interruption first, which is let through
 * here, and not in the moment before, when it would be seen and then waited for. */
static bool await_line(void) {
    sigset_t open;
    fd_set input;
    sigprocmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGINT);
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    return pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &open) >= 0 || errno != EINTR;
}

/* One line without its end; false at the end of the input. An interruption throws away what was
 * typed so far, as a terminal does, and asks again. */
static bool read_line(char **line, size_t *room, size_t *length, bool terminal) {
    while (terminal) {
        fputs("> ", stdout);
        fflush(stdout);
        if (await_line()) break;
        putchar('\n');
    }
    ssize_t count = getline(line, room, stdin);
    if (count < 0) {
        if (terminal) putchar('\n');
        return false;
    }
    *length = (size_t)count - (count > 0 && (*line)[count - 1] == '\n');
    return true;
}

/* Says what was typed; true if the model is to go on. */
static bool say(Writer *writer, const Vocab *vocab, const char *line, size_t length) {
    int32_t *ids;
    size_t count;
    Error err;
    if (length == 0) return true;
    if (!vocab_encode(vocab, "that line", line, length, &ids, &count, &err)) {
        fprintf(stderr, "sample: %s\n", err.text);
        return false;
    }
    writer_new_line(writer);
    writer_say(writer, ids, count);
    memory_free(ids);
    return true;
}

bool dialogue(Writer *writer, const Vocab *vocab, int length, Error *err) {
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART}, before;
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    char *line = NULL;
    size_t room = 0, typed;
    if (sigaction(SIGINT, &action, &before) != 0)
        return fail(err, "the interruption cannot be caught: %s", strerror(errno));
    if (terminal)
        puts("Type a beginning, and Enter. An empty line goes on; Ctrl-C stops the writing, Ctrl-D "
             "ends.");
    let_through(!terminal);
    while (!ferror(stdout) && read_line(&line, &room, &typed, terminal)) {
        if (!say(writer, vocab, line, typed)) continue;
        stopped = 0;
        let_through(true);
        writer_go_on(writer, length, &stopped);
        let_through(!terminal);
        writer_end_line(writer);
    }
    int reason = errno;
    free(line);
    let_through(true);
    sigaction(SIGINT, &before, NULL);
    return ferror(stdout) || feof(stdin) ||
           fail(err, "standard input cannot be read: %s", strerror(reason));
}
