/* json.h - JSON (RFC 8259), read strictly where it stands in memory, and written. */
#ifndef TRIL_JSON_H
#define TRIL_JSON_H

#include "base/error.h"

#include <stddef.h>

/* ---- reading: each call takes what comes next, after white space ---- */

typedef struct {
    const char *name, *claim; /* of the file, and what it is not if it is refused: they open each */
    char *start, *at, *end;   /* message. The text is decoded in place, and so overwritten */
    Error *err;
} Json;

/* `claim` is, for example, "not valid JSON". */
Json json_open(const char *name, const char *claim, char *text, size_t length, Error *err);

/* Says that something is wrong at this place; false. */
bool json_refuse(Json *json, const char *what);

/* Takes the character if it comes next. */
bool json_take(Json *json, char c);

/* Takes it, or refuses. */
bool json_expect(Json *json, char c);

/* The character that comes next, 0 at the end. */
char json_next(Json *json);

/* A string, decoded where it stands and closed by a zero byte; it may hold others. */
bool json_string(Json *json, char **text, size_t *length);

/* A string without zero bytes, so that its length need not be kept. On failure it is empty. */
bool json_name(Json *json, const char **name);

/* A whole number, plainly written, that a size_t holds. */
bool json_size(Json *json, size_t *size);

/* A number, true, false or null, as it is written: `length` bytes from *text on. */
bool json_literal(Json *json, const char **text, size_t *length);

/* Any value, which is checked and left. Refused: more than 64 within one another. */
bool json_skip(Json *json);

/* Nothing but white space may follow. */
bool json_close(Json *json);

/* ---- writing ---- */

/* A text that grows. The first failure stays in `failed`, and the rest is then left out. */
typedef struct {
    char *bytes; /* owned */
    size_t length, room;
    const char *name; /* of the file that it is for */
    bool failed;
    Error *err;
} JsonText;

JsonText json_begin(const char *name, Error *err);

void json_printf(JsonText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* UTF-8, in quotes. */
void json_quote(JsonText *text, const char *string, size_t length);

void json_end(JsonText *text);

#endif
