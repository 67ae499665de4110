/* shell.h - words as a POSIX shell reads them: what is printed can be pasted. */
#ifndef TRIL_SHELL_H
#define TRIL_SHELL_H

#include <stddef.h>
#include <stdio.h>

/* What writes a piece of text to `out`: shell_put as it is, or one that also marks it up. */
typedef void ShellPut(FILE *out, const char *text, size_t length);
ShellPut shell_put;

/* Writes `word` so that a shell reads it back, to the byte, as one word: as it is where it is
 * plain, else in single quotes. One that holds what a terminal would not just print (escape.h)
 * becomes
 * "$(printf '...')", which spells that out and works in any POSIX shell. */
void shell_word(FILE *out, const char *word, ShellPut *put);

/* The same for a path, which a program is not to take for an option: one that begins with a dash is
 * written as ./-name. */
void shell_path(FILE *out, const char *path, ShellPut *put);

#endif
