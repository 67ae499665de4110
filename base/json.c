#include "base/json.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct {
    const char *name, *claim; /* begin each message */
    char *start, *at, *end;   /* the text */
    JsonValue *next;          /* where the next value is put */
    const JsonValue **sorted; /* the members of one object */
    int depth;                /* brackets open */
    Error *err;
} Json;

/* Fails with the place in the text. */
static bool fail_at(Json *json, const char *what) {
    return fail(json->err, "%s: %s: %s at byte %zu", json->name, json->claim, what,
                (size_t)(json->at - json->start));
}

/* Skips up to `most` characters of the set. Returns their number. */
static size_t skip(Json *json, const char *set, size_t most) {
    size_t count = 0;
    for (; count < most && json->at < json->end && *json->at && strchr(set, *json->at); count++)
        json->at++;
    return count;
}

/* Skips white space. Returns the next character; 0 at the end. */
static char peek(Json *json) {
    skip(json, " \t\r\n", SIZE_MAX);
    if (json->at == json->end) return 0;
    return *json->at;
}

static bool take(Json *json, char c) {
    bool there = peek(json) == c;
    if (there) json->at++;
    return there;
}

static bool expect(Json *json, char c) {
    char what[] = "expected '?'";
    what[10] = c;
    return take(json, c) || fail_at(json, what);
}

/* Reads the four digits of \uXXXX. */
static bool read_unit(Json *json, uint32_t *unit) {
    char digits[5] = "";
    if (skip(json, "0123456789abcdefABCDEF", 4) < 4) return fail_at(json, "a bad \\u");
    memcpy(digits, json->at - 4, 4);
    *unit = (uint32_t)strtoul(digits, NULL, 16);
    return true;
}

/* Reads a code point after "\u". Code points above U+FFFF are two surrogates. */
static bool read_code(Json *json, uint32_t *code) {
    uint32_t low;
    if (!read_unit(json, code)) return false;
    if (*code < 0xD800 || *code > 0xDFFF) return true;
    if (*code > 0xDBFF || !skip(json, "\\", 1) || !skip(json, "u", 1) || !read_unit(json, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return fail_at(json, "half a surrogate pair");
    *code = 0x10000 + ((*code & 0x3FF) << 10 | (low & 0x3FF));
    return true;
}

/* Decodes a string in place: no escape is shorter than its character. */
static bool read_string(Json *json, const char **text, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!expect(json, '"')) return false;
    char *to = json->at;
    *text = to;
    for (;;) {
        uint32_t code;
        if (json->at == json->end) return fail_at(json, "an unclosed string");
        int taken = utf8_decode(json->at, (size_t)(json->end - json->at), &code);
        if (taken <= 0) return fail_at(json, "invalid UTF-8");
        if (code < 0x20) return fail_at(json, "a control character in a string");
        json->at += taken;
        if (code == '"') break;
        if (code == '\\' && skip(json, "u", 1)) {
            if (!read_code(json, &code)) return false;
        } else if (code == '\\') {
            if (json->at == json->end) return fail_at(json, "an unclosed string");
            if (!skip(json, escapes, 1)) return fail_at(json, "an unknown escape");
            code = (uint32_t)meanings[strchr(escapes, json->at[-1]) - escapes];
        }
        to += utf8_encode(code, to);
    }
    *length = (size_t)(to - *text);
    *to = 0;
    return true;
}

/* Reads a number, true, false or null. */
static bool read_literal(Json *json) {
    static const char *const names[] = {"true", "false", "null"}, *const digits = "0123456789";
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(names[i]);
        if ((size_t)(json->end - json->at) < length || memcmp(json->at, names[i], length) != 0)
            continue;
        json->at += length;
        return true;
    }
    if (json->at == json->end || !*json->at || !strchr("-0123456789", *json->at))
        return fail_at(json, "expected a value");
    skip(json, "-", 1);
    bool ok = skip(json, "0", 1) || skip(json, digits, SIZE_MAX);
    if (ok && skip(json, ".", 1)) ok = skip(json, digits, SIZE_MAX);
    if (ok && skip(json, "eE", 1)) {
        skip(json, "+-", 1);
        ok = skip(json, digits, SIZE_MAX);
    }
    return ok || fail_at(json, "expected a digit");
}

static int compare_keys(const void *a, const void *b) {
    const JsonValue *x = *(const JsonValue *const *)a, *y = *(const JsonValue *const *)b;
    size_t shorter = min_size(x->key_length, y->key_length);
    int order = memcmp(x->key, y->key, shorter);
    return order ? order : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

/* Checks that the members of an object have distinct keys. */
static bool check_keys(Json *json, const JsonValue *object) {
    size_t count = 0;
    json_each(member, object) json->sorted[count++] = member;
    qsort(json->sorted, count, sizeof *json->sorted, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (compare_keys(&json->sorted[i], &json->sorted[i - 1]) == 0)
            return fail(json->err, "%s: %s: '%.64s' appears twice", json->name, json->claim,
                        json->sorted[i]->key);
    return true;
}

static bool read_value(Json *json, const char *key, size_t key_length);

/* Reads an array or an object, whose bracket is next. `depth` bounds the recursion. */
// NOLINTNEXTLINE(misc-no-recursion)
static bool read_list(Json *json, char closing) {
    enum { DEEPEST = 64 };
    if (++json->depth > DEEPEST) return fail_at(json, "brackets nested too deeply");
    json->at++;
    if (!take(json, closing)) {
        do {
            const char *key = "";
            size_t length = 0;
            if (closing == '}' && (!read_string(json, &key, &length) || !expect(json, ':')))
                return false;
            if (!read_value(json, key, length)) return false;
        } while (take(json, ','));
        if (!expect(json, closing)) return false;
    }
    json->depth--;
    return true;
}

// NOLINTNEXTLINE(misc-no-recursion)
static bool read_value(Json *json, const char *key, size_t key_length) {
    JsonValue *value = json->next++;
    bool ok;
    char first = peek(json);
    *value = (JsonValue){.key = key, .key_length = key_length, .text = json->at};
    if (first == '"') {
        value->kind = JSON_STRING;
        ok = read_string(json, &value->text, &value->length);
    } else if (first == '[' || first == '{') {
        value->kind = first == '[' ? JSON_ARRAY : JSON_OBJECT;
        ok = read_list(json, first == '[' ? ']' : '}');
    } else {
        value->kind = JSON_LITERAL;
        ok = read_literal(json);
        value->length = (size_t)(json->at - value->text);
    }
    value->end = json->next;
    return ok && (value->kind != JSON_OBJECT || check_keys(json, value));
}

bool json_read(JsonValue **root, const char *name, const char *claim, char *text, size_t length,
               Error *err) {
    const size_t most = (size_t)1 << 23;
    Json json = {name, claim, .start = text, .at = text, .end = text + length, .err = err};
    size_t count = 1; /* one of these characters stands before each value but the first */
    for (size_t i = 0; i < length; i++) count += text[i] == '[' || text[i] == ',' || text[i] == ':';
    *root = NULL;
    if (count > most) return fail(err, "%s: %s: too many values", name, claim);
    bool ok = memory_alloc(root, count, sizeof **root, name, err) &&
              memory_alloc(&json.sorted, count, sizeof *json.sorted, name, err);
    json.next = *root;
    ok = ok && read_value(&json, "", 0);
    if (ok && (peek(&json), json.at < json.end))
        ok = fail_at(&json, "unexpected text after the end");
    memory_free(json.sorted);
    if (ok) return true;
    memory_free(*root);
    *root = NULL;
    return false;
}

const JsonValue *json_first(const JsonValue *of) {
    return of && of->end > of + 1 ? of + 1 : NULL;
}

const JsonValue *json_next(const JsonValue *of, const JsonValue *value) {
    return value->end < of->end ? value->end : NULL;
}

const JsonValue *json_member(const JsonValue *object, const char *key) {
    const size_t length = strlen(key);
    if (!object || object->kind != JSON_OBJECT) return NULL;
    json_each(member, object)
        if (member->key_length == length && memcmp(member->key, key, length) == 0) return member;
    return NULL;
}

bool json_name(const JsonValue *value, const char **name) {
    *name = value->text;
    return value->kind == JSON_STRING && strlen(value->text) == value->length;
}

bool json_size(const JsonValue *value, size_t *size) {
    *size = 0;
    for (size_t i = 0; i < value->length; i++) {
        size_t digit = (size_t)(unsigned char)value->text[i] - '0';
        if (digit > 9 || *size > (SIZE_MAX - digit) / 10) return false;
        *size = 10 * *size + digit;
    }
    return value->kind == JSON_LITERAL;
}

/* ---- writing ---- */

void json_quote(Buffer *text, const char *string, size_t length) {
    buffer_put(text, "\"", 1);
    for (size_t at = 0, taken; at < length; at += taken) {
        uint32_t code;
        const int bytes = utf8_decode(string + at, length - at, &code);
        taken = bytes > 0 ? (size_t)bytes : 1;
        if (bytes <= 0) {
            buffer_printf(text, "\uFFFD");
        } else if (code < 0x20 || code == 0x7F) {
            buffer_printf(text, "\\u%04x", (unsigned)code);
        } else {
            if (code == '"' || code == '\\') buffer_put(text, "\\", 1);
            buffer_put(text, string + at, taken);
        }
    }
    buffer_put(text, "\"", 1);
}
