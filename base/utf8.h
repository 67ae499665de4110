/* utf8.h - bytes <-> code points, strictly by RFC 3629: no surrogates, shortest form only. */
#ifndef TRIL_BASE_UTF8_H
#define TRIL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX = 4 }; /* bytes of the longest character */

/* Decodes the first character of text [length] into *code. Returns its bytes, 1 to 4; UTF8_INVALID;
 * or UTF8_CUT for a valid character cut short. */
enum { UTF8_INVALID = 0, UTF8_CUT = -1 };
int utf8_decode(const char *text, size_t length, uint32_t *code);

/* Encodes a valid code point. Returns its bytes, 1 to 4. */
int utf8_encode(uint32_t code, char text[UTF8_MAX]);

/* Returns true if the text is valid UTF-8. */
bool utf8_valid(const char *text);

#endif
