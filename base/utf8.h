/* utf8.h - bytes <-> Unicode code points, strictly (RFC 3629: at most four bytes, no surrogates,
 * the shortest form only). */
#ifndef TRIL_UTF8_H
#define TRIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX = 4 }; /* bytes of the longest character */

/* Reads one character from the first of `length` bytes: returns the bytes it takes (1 to 4) and
 * sets *code; 0 if they are not valid UTF-8; -1 if they are a valid character cut short. */
int utf8_decode(const char *text, size_t length, uint32_t *code);

/* Writes a code point (valid, as utf8_decode gives them) and returns its bytes, 1 to 4. */
int utf8_encode(uint32_t code, char text[UTF8_MAX]);

/* Holds back the bytes of a character until it is whole. */
typedef struct {
    char bytes[UTF8_MAX];
    int count;
} Utf8Stream;

/* Takes one byte of a stream that claims to be UTF-8 and appends to `text` what is now whole, a
 * byte that cannot be part of any character becoming U+FFFD. Returns the bytes written; `text`
 * has room for 4 * UTF8_MAX. */
int utf8_stream(Utf8Stream *stream, char byte, char *text);

#endif
