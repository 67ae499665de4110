/* json.h - reads JSON (RFC 8259) strictly, in place, and writes it. */
#ifndef TRIL_BASE_JSON_H
#define TRIL_BASE_JSON_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>

/* ---- reading: each call skips white space first ---- */

typedef struct {
    const char *name, *claim; /* begin each message: the file, and what it is not */
    char *start, *at, *end;   /* the text; strings are decoded in place */
    Error *err;
} Json;

/* Begins to read text [length]. `claim` is, for example, "not valid JSON". */
Json json_open(const char *name, const char *claim, char *text, size_t length, Error *err);

/* Reports `what` as wrong at this place. Returns false. */
bool json_refuse(Json *json, const char *what);

/* Reads `c` if it is next; false otherwise. */
bool json_take(Json *json, char c);

/* Reads `c`. Refused: anything else. */
bool json_expect(Json *json, char c);

/* The next character, not consumed; 0 at the end. */
char json_next(Json *json);

/* Reads a string. Decodes it in place and ends it with a zero byte. It may contain zero bytes. */
bool json_string(Json *json, char **text, size_t *length);

/* Reads a string without zero bytes. On failure *name is empty. */
bool json_name(Json *json, const char **name);

/* Reads a whole number, without sign, fraction or exponent, that fits a size_t. */
bool json_size(Json *json, size_t *size);

/* Reads a number, true, false or null. Sets *text to its `length` bytes as written. */
bool json_literal(Json *json, const char **text, size_t *length);

/* Checks and skips any value. Refused: more than 64 levels of nesting. */
bool json_skip(Json *json);

/* Checks that only white space is left. */
bool json_close(Json *json);

/* ---- writing ---- */

/* Writes UTF-8 text in quotes, escaped. */
void json_quote(Buffer *text, const char *string, size_t length);

#endif
