/* escape.h - escapes text from a file or a user before a terminal shows it.
 *
 * Control characters move a terminal's cursor, change its colors or set its title. Bidirectional
 * controls reverse the rest of a line. Escaped as \x1b: bytes below 0x20, 0x7F, code points U+0080
 * to U+009F, and each byte that is not valid UTF-8. Escaped as \u202e: code points U+202A to U+202E
 * and U+2066 to U+2069. Everything else stays, even backslashes: the output is not for parsing. */
#ifndef TRIL_BASE_ESCAPE_H
#define TRIL_BASE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum { ESCAPE_SIZE = 7 }; /* bytes of the longest escaped character and a NUL */

/* Writes the first character of text [length], length >= 1, escaped, with a NUL. Returns its bytes
 * in the text. The escaped form is never shorter than the original. */
size_t escape_first(const char *text, size_t length, char shown[ESCAPE_SIZE]);

/* Prints text, escaped, but for the characters in `kept`, such as newlines. */
void escape_print(FILE *out, const char *text, size_t length, const char *kept);

/* Returns the bytes of the longest beginning of text[length] that, escaped, is at most `max`
 * columns wide, at least one character, and sets *columns to its width. */
size_t escape_fitting(const char *text, size_t length, int max, int *columns);

/* Prints words on one line, escaped, from `column` on. Begins a new line, indented by `hang`,
 * before a word that would end beyond `columns`. Returns the column of its end. */
int escape_words(FILE *out, const char *text, int column, int hang, int columns);

/* Copies a string, escaped like a line: the whole characters that fit, and a NUL. */
void escape_copy(char *to, size_t capacity, const char *text);

#endif
