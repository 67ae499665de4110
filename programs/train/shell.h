/* shell.h - quotes arguments for a POSIX shell, so that printed commands can be pasted. */
#ifndef TRIL_PROGRAMS_TRAIN_SHELL_H
#define TRIL_PROGRAMS_TRAIN_SHELL_H

#include <stddef.h>

/* Writes a piece of text to `out`: shell_put to a FILE, other functions elsewhere. */
typedef void ShellPut(void *out, const char *text, size_t length);
ShellPut shell_put;

/* Writes `word` so that a shell reads exactly these bytes as one word. A plain word stays as it is.
 * Others get single quotes. A word with characters that escape.h escapes becomes "$(printf '...')",
 * which works in any POSIX shell. */
void shell_word(void *out, const char *word, ShellPut *put);

/* Writes the name of a program like shell_word. A name such as "tril train", one program with two
 * commands, stays two words. */
void shell_program(void *out, const char *name, ShellPut *put);

/* Writes a path like shell_word. -name becomes ./-name, which is no option; - stays. */
void shell_path(void *out, const char *path, ShellPut *put);

#endif
