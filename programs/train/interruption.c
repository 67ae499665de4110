#include "programs/train/interruption.h"
#include "base/file.h"
#include "base/terminal.h"
#include "base/world.h"

#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked; /* how often the user has asked to stop: once for an orderly
                                       end, twice to skip the evaluations */
static bool loud, terminal;

/* Prints a line without stdio, which a signal handler must not use. */
static void say(const char *line) {
    if (!loud) return;
    const char over[] = "\r\033[K"; /* the line of progress */
    bool put = !terminal || write(STDOUT_FILENO, over, sizeof over - 1) >= 0;
    put = put && write(STDOUT_FILENO, line, (unsigned)strlen(line)) >= 0;
    (void)put; /* a failure could not be shown either */
}

static void on_interruption(Signal which) {
    bool counts = which == SIGNAL_INTERRUPT || which == SIGNAL_TERMINATE;
    if (asked == 0) {
        asked = 1;
        if (which != SIGNAL_PIPE)
            say("Stopping: saving, and evaluating the best model. Press Ctrl-C again to skip the "
                "evaluation.\n");
    } else if (counts && asked == 1) {
        asked = 2;
        say("Stopping without evaluating. Press Ctrl-C again to end at once.\n");
    } else if (counts) {
        file_abandon();
        signals_die(which);
    }
}

void interruption_catch(bool shows) {
    loud = shows;
    terminal = terminal_is(stdout);
    signals_catch(world_rank() > 0 ? SIGNALS_IGNORED : on_interruption);
}

bool interrupted(void) {
    return asked > 0;
}

bool interrupted_twice(void) {
    return asked > 1;
}
