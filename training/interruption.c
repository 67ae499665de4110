#include "training/interruption.h"
#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked; /* 1: for an orderly end; 2: without evaluations */
static bool loud, terminal;

static const int interruptions[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { COUNT = sizeof interruptions / sizeof *interruptions };

/* Without stdio, which a signal handler must not use. */
static void say(const char *line) {
    if (!loud) return;
    ssize_t put =
        terminal ? write(STDOUT_FILENO, "\r\033[K", 4) : 0; /* over the line of progress */
    put = put < 0 ? put : write(STDOUT_FILENO, line, strlen(line));
    (void)put; /* nobody can be told that the terminal is gone */
}

static void on_interruption(int number) {
    int before = errno;
    bool counts = number == SIGINT || number == SIGTERM;
    if (asked == 0) {
        asked = 1;
        if (number != SIGPIPE)
            say("Stopping: evaluating and saving; again to stop without evaluating\n");
    } else if (counts && asked == 1) {
        asked = 2;
        say("Stopping without evaluating; again to end at once\n");
    } else if (counts) {
        file_abandon();
        signal(number, SIG_DFL);
        raise(number); /* it is delivered when this handler returns */
    }
    errno = before;
}

void interruption_catch(bool with_words) {
    struct sigaction action = {.sa_handler = on_interruption, .sa_flags = SA_RESTART}, old;
    loud = with_words;
    terminal = isatty(STDOUT_FILENO);
    /* handlers run one at a time, so that the count stays right */
    for (int i = 0; i < COUNT; i++) sigaddset(&action.sa_mask, interruptions[i]);
    for (int i = 0; i < COUNT; i++)
        if (sigaction(interruptions[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(interruptions[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

void interruption_ignore(void) {
    for (int i = 0; i < COUNT; i++) signal(interruptions[i], SIG_IGN);
}

bool interrupted(void) {
    return asked > 0;
}

bool interrupted_twice(void) {
    return asked > 1;
}
