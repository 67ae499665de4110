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

/* Unblocks SIGINT (now) or blocks it, so that it stays pending. */
static void deliver_interruption(bool now) {
    sigset_t interruption;
    sigemptyset(&interruption);
    sigaddset(&interruption, SIGINT);
    pthread_sigmask(now ? SIG_UNBLOCK : SIG_BLOCK, &interruption, NULL);
}

/* Waits for a line on the terminal. False if SIGINT comes first. SIGINT is delivered only inside
 * pselect: just before, its handler would run and the wait would begin all the same. */
static bool await_line(void) {
    sigset_t open;
    fd_set input;
    pthread_sigmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGINT);
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    return pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &open) >= 0 || errno != EINTR;
}

/* Reads one line without its newline. False at the end of the input. After SIGINT the terminal
 * drops the typed characters, and the prompt appears again. */
static bool read_line(char **line, size_t *capacity, size_t *length, bool terminal) {
    while (terminal) {
        fputs("> ", stdout);
        fflush(stdout);
        if (await_line()) break;
        putchar('\n');
    }
    ssize_t count = getline(line, capacity, stdin);
    if (count < 0) {
        if (terminal) putchar('\n');
        return false;
    }
    *length = (size_t)count - (count > 0 && (*line)[count - 1] == '\n');
    return true;
}

/* Adds the typed line to the text. True if the model should continue. */
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

static void go_on(Writer *writer, int length, bool terminal) {
    if (terminal) deliver_interruption(true);
    writer_go_on(writer, length, &stopped);
    if (terminal) deliver_interruption(false);
    writer_end_text(writer);
}

static bool take_turns(Writer *writer, const Vocab *vocab, const int32_t *ids, size_t count,
                       int length, bool terminal, Error *err) {
    char *line = NULL;
    size_t capacity = 0, typed;
    writer_say(writer, ids, count);
    if (count > 0) go_on(writer, length, terminal);
    while (!ferror(stdout) && read_line(&line, &capacity, &typed, terminal)) {
        stopped = 0;
        if (say(writer, vocab, line, typed)) go_on(writer, length, terminal);
    }
    int reason = errno;
    free(line);
    return ferror(stdout) || feof(stdin) ||
           fail(err, "standard input cannot be read: %s", strerror(reason));
}

bool dialogue(Model *model, const Vocab *vocab, const WriterOptions *options, const int32_t *ids,
              size_t count, int length, Error *err) {
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART}, before;
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    bool caught = terminal && sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN;
    Writer *writer = NULL;
    if (caught) sigaction(SIGINT, &action, NULL);
    if (terminal) {
        deliver_interruption(false); /* the writer's threads inherit this mask */
        puts("Type a beginning, and Enter. An empty line goes on; Ctrl-C stops the writing, Ctrl-D "
             "ends.");
    }
    bool ok = writer_open(&writer, model, vocab, options, err) &&
              take_turns(writer, vocab, ids, count, length, terminal, err);
    writer_close(writer);
    if (terminal) deliver_interruption(true);
    if (caught) sigaction(SIGINT, &before, NULL);
    return ok;
}
