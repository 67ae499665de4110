#include "base/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/select.h>
#include <unistd.h>

static const int numbers[] = {[SIGNAL_INTERRUPT] = SIGINT,
                              [SIGNAL_TERMINATE] = SIGTERM,
                              [SIGNAL_HANGUP] = SIGHUP,
                              [SIGNAL_PIPE] = SIGPIPE};
enum { COUNT = sizeof numbers / sizeof *numbers };

static void (*handle)(Signal signal);

static void on_signal(int number) {
    int before = errno;
    for (int i = 0; i < COUNT; i++)
        if (numbers[i] == number) handle((Signal)i);
    errno = before;
}

void signals_catch(void (*wanted)(Signal signal)) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    handle = wanted;
    /* handlers run one at a time */
    for (int i = 0; i < COUNT; i++) sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < COUNT; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    signals_ignore_limits();
}

void signals_ignore(void) {
    for (int i = 0; i < COUNT; i++) signal(numbers[i], SIG_IGN);
}

void signals_die(Signal which) {
    signal(numbers[which], SIG_DFL);
    raise(numbers[which]); /* it is delivered when the handler returns */
}

void signals_ignore_limits(void) {
    signal(SIGXFSZ, SIG_IGN);
}

/* The mask before signals_hold: each thread has its own. */
static _Thread_local sigset_t held;

void signals_hold(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &held);
}

void signals_release(void) {
    pthread_sigmask(SIG_SETMASK, &held, NULL);
}

/* ---- turns ---- */

static volatile sig_atomic_t *stop;
static struct sigaction before_turns;
static bool taking_turns;

static void on_stop(int number) {
    (void)number;
    *stop = 1;
}

/* Unblocks SIGINT, or blocks it, so that it stays pending. */
static void deliver(int how) {
    sigset_t interruption;
    sigemptyset(&interruption);
    sigaddset(&interruption, SIGINT);
    pthread_sigmask(how, &interruption, NULL);
}

void signals_let_through(void) {
    deliver(SIG_UNBLOCK);
}

void signals_keep_out(void) {
    deliver(SIG_BLOCK);
}

void signals_take_turns(volatile sig_atomic_t *stopped) {
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    stop = stopped;
    taking_turns =
        sigaction(SIGINT, NULL, &before_turns) == 0 && before_turns.sa_handler != SIG_IGN;
    if (taking_turns) sigaction(SIGINT, &action, NULL);
    signals_keep_out();
}

void signals_end_turns(void) {
    signals_let_through();
    if (taking_turns) sigaction(SIGINT, &before_turns, NULL);
}

/* SIGINT is delivered only inside pselect: just before, its handler would run and the wait would
 * begin all the same. */
bool signals_await_input(void) {
    sigset_t open;
    fd_set input;
    pthread_sigmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGINT);
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    return pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &open) >= 0 || errno != EINTR;
}
