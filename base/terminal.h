/* terminal.h - a program and its user: arguments, standard streams, terminal, and the signals that
 * end a program. One interface for POSIX (terminal_posix.c) and Windows (terminal_windows.c). */
#ifndef TRIL_BASE_TERMINAL_H
#define TRIL_BASE_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prepares the program's streams. Call it before any file is opened. Opens the null device for each
 * standard stream that is closed, so that no later file gets its number. Sets the user's locale, or
 * a UTF-8 locale if that cannot measure wide characters (width_of). Reaching the size limit of a
 * file (SIGXFSZ) becomes an ordinary write error. On Windows the arguments become UTF-8, the
 * streams bytes without changed line ends, and the console takes UTF-8. */
void terminal_prepare(int *argc, char ***argv);

/* Returns true if the stream is a terminal. */
bool terminal_is(FILE *stream);

/* Returns the terminal's columns, or else those of the variable COLUMNS. Returns `otherwise` if
 * neither is known or the stream is no terminal. */
int terminal_columns(FILE *stream, int otherwise);

/* Returns the columns that a character takes on a screen, as wcwidth of POSIX does. */
int width_of(uint32_t code);

/* Sends each line of standard output at once from now on, even to a pipe. */
void terminal_send_lines(void);

/* Reads a line of standard input, with its newline if it has one, as getline of POSIX does: *line
 * is owned by the caller, who releases it with free. Returns its length, or -1 at the end (with
 * errno 0, or feof). */
int64_t terminal_read_line(char **line, size_t *capacity);

/* ---- signals; on Windows events of the console ---- */

typedef enum {
    SIGNAL_INTERRUPT, /* Ctrl-C */
    SIGNAL_TERMINATE, /* SIGTERM; on Windows Ctrl-Break */
    SIGNAL_HANGUP,    /* the terminal or the console is closed */
    SIGNAL_PIPE       /* nobody reads the output; not on Windows */
} Signal;

/* Calls `handle` for each signal from now on, inside a signal handler or, on Windows, in a thread
 * of the system; two calls never overlap. Signals that were ignored from the start, as under nohup,
 * stay ignored. SIGNALS_IGNORED: they do nothing. */
#define SIGNALS_IGNORED NULL
void signals_catch(void (*handle)(Signal signal));

/* Ends the program as the signal would have. For use inside `handle`. */
void signals_die(Signal signal);

/* Blocks all signals in this thread, and in threads that it starts, until signals_release; on
 * Windows in the whole program. Calls do not nest. */
void signals_hold(void);
void signals_release(void);

#endif
