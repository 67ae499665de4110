#include "training/interruption.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen;

static const int interruptions[] = {SIGINT, SIGTERM, SIGHUP};
enum { COUNT = sizeof interruptions / sizeof *interruptions };

static void on_interruption(int number) {
    (void)number;
    seen = 1;
    for (int i = 0; i < COUNT; i++) signal(interruptions[i], SIG_DFL);
}

void interruption_catch(void) {
    struct sigaction action = {.sa_handler = on_interruption, .sa_flags = SA_RESTART}, old;
    for (int i = 0; i < COUNT; i++)
        if (sigaction(interruptions[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(interruptions[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

void interruption_ignore(void) {
    for (int i = 0; i < COUNT; i++) signal(interruptions[i], SIG_IGN);
}

bool interrupted(void) {
    return seen;
}
