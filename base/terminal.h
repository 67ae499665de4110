/* terminal.h - a program's words, its standard streams and its terminal, alike on POSIX
 * (terminal_posix.c) and Windows (terminal_windows.c). */
#ifndef TRIL_BASE_TERMINAL_H
#define TRIL_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Call it first, before any file is opened. Opens the null device for each standard stream that is
 * closed, so that no later file gets its number. On Windows the words become UTF-8, the streams
 * bytes without changed line ends, and the console takes UTF-8. */
void terminal_prepare(int *argc, char ***argv);

/* Is there a person at the other end? */
bool terminal_is(FILE *stream);

/* The terminal's columns, 0 if it does not say. */
int terminal_columns(FILE *stream);

/* Does it understand colours? */
bool terminal_has_colours(FILE *stream);

/* From now on a pipe gets each line at once. */
void terminal_send_lines(FILE *stream);

/* Reads a line of standard input, with its newline if it has one, as getline of POSIX does: *line
 * is owned by the caller, who releases it with free. Returns its length, -1 at the end (with errno
 * 0, or feof), and on Windows 0 if Ctrl-C came first. */
int64_t terminal_read_line(char **line, size_t *capacity);

#endif
