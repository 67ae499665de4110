/* shell.h - quotes arguments for a POSIX shell, so that printed commands can be pasted. */
#ifndef TRIL_PROGRAMS_TRAIN_SHELL_H
#define TRIL_PROGRAMS_TRAIN_SHELL_H

#include "base/buffer.h"

/* Appends `word` so that a shell reads it as one word. A plain word stays as it is. Others get
 * single quotes. Characters that escape.h escapes are escaped, so a file with one of these in its
 * name has to be renamed before the command can be pasted. */
void shell_word(Buffer *out, const char *word);

/* Appends the name of a program like shell_word. A name such as "tril train", one program with two
 * commands, stays two words. */
void shell_program(Buffer *out, const char *name);

/* Appends a program and its arguments; " ..." replaces those after `most` bytes. */
void shell_command(Buffer *out, char *const *words, int count, size_t most);

/* Appends a path like shell_word. -name becomes ./-name, which is no option; - stays. */
void shell_path(Buffer *out, const char *path);

#endif
