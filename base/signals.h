/* signals.h - how a person or the system ends a program: signals of POSIX (signals_posix.c), events
 * of a console on Windows (signals_windows.c). */
#ifndef TRIL_BASE_SIGNALS_H
#define TRIL_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef enum {
    SIGNAL_INTERRUPT, /* Ctrl-C */
    SIGNAL_TERMINATE, /* SIGTERM; on Windows Ctrl-Break */
    SIGNAL_HANGUP,    /* the terminal or the console is closed */
    SIGNAL_PIPE       /* nobody reads the output; not on Windows */
} Signal;

/* From now on `handle` is called for each of these, never twice at once: inside a signal handler,
 * or on Windows in a thread of the system. Signals that were ignored from the start, as under
 * nohup, stay ignored. A file that has reached its size limit is a normal error of writing
 * (SIGXFSZ). */
void signals_catch(void (*handle)(Signal signal));

/* From now on they do nothing. */
void signals_ignore(void);

/* Ends the program as the signal would have. Inside `handle`. */
void signals_die(Signal signal);

/* Until signals_release no signal arrives in this thread, or in the threads that it starts. */
void signals_hold(void);
void signals_release(void);

/* A file that has reached its size limit is a normal error of writing. */
void signals_ignore_limits(void);

/* ---- Ctrl-C while a program and a person take turns ---- */

/* From now on Ctrl-C sets *stopped to 1, if it was not ignored: while the program writes (between
 * signals_let_through and signals_keep_out), and while it waits in signals_await_input, which is
 * then false. signals_end_turns undoes it. */
void signals_take_turns(volatile sig_atomic_t *stopped);
void signals_end_turns(void);
void signals_let_through(void);
void signals_keep_out(void);

/* Waits for a line on standard input, a terminal. False if Ctrl-C comes first. */
bool signals_await_input(void);

#endif
