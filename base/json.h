/* json.h - reads JSON (RFC 8259) strictly, in place, and writes it. */
#ifndef TRIL_BASE_JSON_H
#define TRIL_BASE_JSON_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>

/* ---- reading ---- */

typedef enum { JSON_LITERAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

/* A value. Those inside an array or object follow it in memory, each followed by its own. */
typedef struct JsonValue {
    JsonKind kind;
    const char *key; /* of a member of an object: decoded, ended by a zero byte; else empty */
    size_t key_length;
    const char *text; /* a string: decoded, ended by a zero byte; a literal: as written */
    size_t length;
    const struct JsonValue *end; /* after the value and all that is in it */
} JsonValue;

/* Iterates over the values of an array or object; any other value, and NULL, has none. */
#define json_each(value, of) \
    for (const JsonValue *value = json_first(of); value; value = json_next(of, value))
const JsonValue *json_first(const JsonValue *of);
const JsonValue *json_next(const JsonValue *of, const JsonValue *value);

/* Reads text [length], decoding it in place: keys and strings point into it. The caller releases
 * *root with memory_free. Fails, with *root NULL, if the text is not one JSON value, if an object
 * has a key twice, for brackets nested more than 64 deep, and for more than 2^23 values. A message
 * begins with `name`, the file, and `claim`, such as "not valid JSON". */
bool json_read(JsonValue **root, const char *name, const char *claim, char *text, size_t length,
               Error *err);

/* Returns the member with this key; NULL if there is none. `object` may be NULL. */
const JsonValue *json_member(const JsonValue *object, const char *key);

/* Sets *name to a string without zero bytes. Returns false for any other value. */
bool json_name(const JsonValue *value, const char **name);

/* Sets *size to a number in digits alone that fits a size_t. Returns false for any other value. */
bool json_size(const JsonValue *value, size_t *size);

/* ---- writing ---- */

/* Appends a text in quotes, escaped. Bytes that are not UTF-8 become U+FFFD. */
void json_quote(Buffer *text, const char *string, size_t length);

#endif
