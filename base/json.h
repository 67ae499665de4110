/* json.h - reads JSON (RFC 8259) strictly, in place, and writes it. */
#ifndef TRIL_BASE_JSON_H
#define TRIL_BASE_JSON_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>

/* ---- reading ---- */

typedef enum { JSON_LITERAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

/* A value. Behind an array or object come its values, each with all that is in it: the first is
 * value + 1, the next of each is its `end`, and the `end` of the last is that of the whole. */
typedef struct JsonValue {
    JsonKind kind;
    const char *key; /* of a member of an object, decoded; else empty */
    size_t key_length;
    const char *text; /* of a string: decoded, with a zero byte behind; of a literal: as written */
    size_t length;
    const struct JsonValue *end;
} JsonValue;

/* Goes through the values of an array or object; other values have none, and NULL neither. */
#define json_each(value, of) \
    for (const JsonValue *value = json_first(of); value; value = json_next(of, value))
const JsonValue *json_first(const JsonValue *of);
const JsonValue *json_next(const JsonValue *of, const JsonValue *value);

/* Reads text [length], which must be one value and nothing else. Decodes it in place: keys and
 * strings point into it. The caller releases *root with memory_free. Fails for two members of an
 * object with one key, for brackets nested more than 64 deep, and for
 * millions of values. A message begins with `name`, the file, and `claim`, such as "not valid
 * JSON". */
bool json_read(JsonValue **root, const char *name, const char *claim, char *text, size_t length,
               Error *err);

/* The member with this key, or OUTER.INNER. NULL if there is none, or no object. */
const JsonValue *json_member(const JsonValue *object, const char *key);

/* Is it this literal, such as null? Is it this string? NULL is neither. */
bool json_is(const JsonValue *value, const char *literal);
bool json_says(const JsonValue *value, const char *string);

/* Takes a string without zero bytes. False for anything else. */
bool json_name(const JsonValue *value, const char **name);

/* Takes a whole number, without sign, fraction or exponent, that fits a size_t. False for anything
 * else. */
bool json_size(const JsonValue *value, size_t *size);

/* ---- writing ---- */

/* Writes UTF-8 text in quotes, escaped. */
void json_quote(Buffer *text, const char *string, size_t length);

#endif
