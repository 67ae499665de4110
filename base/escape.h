/* escape.h - text from a file or a person, shown so that a terminal only prints it.
 *
 * A terminal obeys control characters: they move the cursor, colour what follows, or set its title.
 * Bidirectional controls turn the rest of a line around. Here these are written out: as \x1b the
 * bytes below 0x20, 0x7F, the code points U+0080 to U+009F and each byte that is not valid UTF-8;
 * as \u202e the code points U+202A to U+202E and U+2066 to U+2069. All else stays as it is, also a
 * backslash: this is for reading, and is not read back. */
#ifndef TRIL_ESCAPE_H
#define TRIL_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum { ESCAPE_ROOM = 8 }; /* bytes of the longest character that is shown, and a NUL */

/* Writes the first character of `length` >= 1 bytes as it is shown, with a NUL, and returns how
 * many bytes it takes of the text. It is no shorter when shown than in the text. */
size_t escape_first(const char *text, size_t length, char shown[ESCAPE_ROOM]);

/* Prints a text of several lines: ends of lines and tabs stay. */
void escape_text(FILE *out, const char *text, size_t length);

/* Prints what is to stay on one line: nothing of that kind stays. */
void escape_line(FILE *out, const char *text, size_t length);

/* The same, of a string. */
void escape_string(FILE *out, const char *text);

/* The same into memory: as many whole characters as fit into `room` bytes, and a NUL. */
void escape_copy(char *to, size_t room, const char *text);

#endif
