#include "base/json.h"
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
    const JsonValue **sorted; /* space for the members of one object */
    int depth;                /* of brackets */
    Error *err;
} Json;

static bool refuse(Json *json, const char *what) {
    return fail(json->err, "%s: %s: %s at byte %zu", json->name, json->claim, what,
                (size_t)(json->at - json->start));
}

/* The next character that is not white space, not consumed; 0 at the end. */
static char peek(Json *json) {
    while (json->at < json->end && *json->at && strchr(" \t\r\n", *json->at)) json->at++;
    if (json->at == json->end) return 0;
    return *json->at;
}

static bool take(Json *json, char c) {
    bool there = peek(json) == c && json->at < json->end;
    if (there) json->at++;
    return there;
}

static bool expect(Json *json, char c) {
    char what[] = "no '?'";
    what[4] = c;
    return take(json, c) || refuse(json, what);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits of \uXXXX, or -1 if they are missing. */
static int32_t hex_four(Json *json) {
    if (json->end - json->at < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*json->at++);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Reads a code point after "\u". Code points above U+FFFF are two surrogates. */
static bool escaped_code(Json *json, uint32_t *code) {
    int32_t first = hex_four(json);
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF)) return refuse(json, "a bad \\u");
    *code = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) return true;
    if (json->end - json->at < 2 || *json->at++ != '\\' || *json->at++ != 'u')
        return refuse(json, "half a surrogate pair");
    int32_t second = hex_four(json);
    if (second < 0xDC00 || second > 0xDFFF) return refuse(json, "half a surrogate pair");
    *code = 0x10000 + (((uint32_t)first & 0x3FF) << 10 | ((uint32_t)second & 0x3FF));
    return true;
}

/* Decoding in place works because no escape is shorter than its character. */
static bool read_string(Json *json, const char **text, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!expect(json, '"')) return false;
    char *to = json->at;
    *text = to;
    for (;;) {
        if (json->at == json->end) return refuse(json, "an unclosed string");
        uint32_t code;
        int taken = utf8_decode(json->at, (size_t)(json->end - json->at), &code);
        if (taken <= 0) return refuse(json, "invalid UTF-8");
        if (code < 0x20) return refuse(json, "a control character in a string");
        json->at += taken;
        if (code == '"') break;
        if (code == '\\') {
            if (json->at == json->end) return refuse(json, "an unclosed string");
            char c = *json->at++;
            const char *escape = strchr(escapes, c);
            if (c == 'u') {
                if (!escaped_code(json, &code)) return false;
            } else if (c && escape) {
                code = (uint32_t)(unsigned char)meanings[escape - escapes];
            } else {
                return refuse(json, "an unknown escape");
            }
        }
        to += utf8_encode(code, to);
    }
    *length = (size_t)(to - *text);
    *to = 0;
    return true;
}

static bool is_digit(const Json *json) {
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

static bool skip_digits(Json *json) {
    if (!is_digit(json)) return refuse(json, "no digit");
    while (is_digit(json)) json->at++;
    return true;
}

static bool skip_one_of(Json *json, const char *characters) {
    bool there = json->at < json->end && *json->at && strchr(characters, *json->at);
    if (there) json->at++;
    return there;
}

static bool skip_number(Json *json) {
    skip_one_of(json, "-");
    if (!skip_one_of(json, "0") && !skip_digits(json)) return false;
    if (skip_one_of(json, ".") && !skip_digits(json)) return false;
    if (!skip_one_of(json, "eE")) return true;
    skip_one_of(json, "+-");
    return skip_digits(json);
}

/* Reads a number, true, false or null. */
static bool read_literal(Json *json, JsonValue *value) {
    static const char *const words[] = {"true", "false", "null"};
    value->text = json->at;
    if (is_digit(json) || peek(json) == '-') {
        if (!skip_number(json)) return false;
    } else {
        size_t left = (size_t)(json->end - json->at), i = 0;
        while (i < 3 &&
               (left < strlen(words[i]) || memcmp(json->at, words[i], strlen(words[i])) != 0))
            i++;
        if (i == 3) return refuse(json, "no value");
        json->at += strlen(words[i]);
    }
    value->length = (size_t)(json->at - value->text);
    return true;
}

static int compare_keys(const void *a, const void *b) {
    const JsonValue *x = *(const JsonValue *const *)a, *y = *(const JsonValue *const *)b;
    size_t shorter = x->key_length < y->key_length ? x->key_length : y->key_length;
    int order = memcmp(x->key, y->key, shorter);
    return order ? order : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

/* The members of an object must have distinct keys. */
static bool check_keys(Json *json, const JsonValue *object) {
    size_t count = 0;
    json_each(member, object) json->sorted[count++] = member;
    qsort(json->sorted, count, sizeof *json->sorted, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (compare_keys(&json->sorted[i], &json->sorted[i - 1]) == 0)
            return fail(json->err, "%s: %s: there are two '%.64s'", json->name, json->claim,
                        json->sorted[i]->key);
    return true;
}

static bool read_value(Json *json, const char *key, size_t key_length);

/* Reads the values inside brackets, the first of which is next. DEEPEST bounds the recursion. */
// NOLINTNEXTLINE(misc-no-recursion)
static bool read_inside(Json *json, bool object) {
    enum { DEEPEST = 64 };
    const char closing = object ? '}' : ']';
    if (++json->depth > DEEPEST) return refuse(json, "too many brackets within brackets");
    json->at++;
    if (!take(json, closing)) {
        do {
            const char *key = "";
            size_t length = 0;
            if (object && (!read_string(json, &key, &length) || !expect(json, ':'))) return false;
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
    char first = peek(json);
    *value = (JsonValue){.key = key, .key_length = key_length, .text = json->at};
    value->kind = first == '"'   ? JSON_STRING
                  : first == '[' ? JSON_ARRAY
                  : first == '{' ? JSON_OBJECT
                                 : JSON_LITERAL;
    bool ok = value->kind == JSON_STRING    ? read_string(json, &value->text, &value->length)
              : value->kind == JSON_LITERAL ? read_literal(json, value)
                                            : read_inside(json, value->kind == JSON_OBJECT);
    value->end = json->next;
    return ok && (value->kind != JSON_OBJECT || check_keys(json, value));
}

bool json_read(JsonValue **root, const char *name, const char *claim, char *text, size_t length,
               Error *err) {
    const size_t most = (size_t)1 << 23;
    Json json = {.name = name, .claim = claim, .start = text, .at = text, .end = text + length};
    size_t count = 1; /* before each value but the first stands one of these characters */
    for (size_t i = 0; i < length; i++) count += text[i] == '[' || text[i] == ',' || text[i] == ':';
    json.err = err;
    *root = NULL;
    if (count > most) return fail(err, "%s: %s: too many values", name, claim);
    bool ok = memory_alloc(root, count, sizeof **root, name, err) &&
              memory_alloc(&json.sorted, count, sizeof *json.sorted, name, err);
    json.next = *root;
    ok = ok && read_value(&json, "", 0);
    if (ok) peek(&json);
    ok = ok && (json.at == json.end || refuse(&json, "something after the end"));
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
    for (;;) {
        const size_t length = strcspn(key, ".");
        const JsonValue *found = NULL;
        if (!object || object->kind != JSON_OBJECT) return NULL;
        json_each(member, object)
            if (member->key_length == length && memcmp(member->key, key, length) == 0)
                found = member;
        if (!found || !key[length]) return found;
        key += length + 1;
        object = found;
    }
}

bool json_is(const JsonValue *value, const char *literal) {
    return value && value->kind == JSON_LITERAL && value->length == strlen(literal) &&
           memcmp(value->text, literal, value->length) == 0;
}

bool json_says(const JsonValue *value, const char *string) {
    const char *name;
    return value && json_name(value, &name) && strcmp(name, string) == 0;
}

bool json_name(const JsonValue *value, const char **name) {
    *name = value->text;
    return value->kind == JSON_STRING && strlen(value->text) == value->length;
}

bool json_size(const JsonValue *value, size_t *size) {
    const char *digits = value->text;
    *size = 0;
    if (value->kind != JSON_LITERAL || (*digits == '0' && value->length > 1)) return false;
    for (size_t i = 0; i < value->length; i++) {
        size_t digit = (size_t)(unsigned char)digits[i] - '0';
        if (digit > 9 || *size > (SIZE_MAX - digit) / 10) return false;
        *size = 10 * *size + digit;
    }
    return true;
}

/* ---- writing ---- */

void json_quote(Buffer *text, const char *string, size_t length) {
    enum { LONGEST = 6 }; /* bytes of the longest escape */
    if (!buffer_reserve(text, LONGEST * length + 2)) return;
    text->bytes[text->length++] = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)string[i];
        if (c == '"' || c == '\\') text->bytes[text->length++] = '\\';
        if (c < 0x20 || c == 0x7F)
            buffer_printf(text, "\\u%04x", c);
        else
            text->bytes[text->length++] = (char)c;
    }
    text->bytes[text->length++] = '"';
}
