#include "base/json.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* ---- reading ---- */

Json json_open(const char *name, const char *claim, char *text, size_t length, Error *err) {
    return (Json){name, claim, text, text, text + length, err};
}

bool json_refuse(Json *json, const char *what) {
    return fail(json->err, "%s: %s: %s at byte %zu", json->name, json->claim, what,
                (size_t)(json->at - json->start));
}

char json_next(Json *json) {
    while (json->at < json->end && *json->at && strchr(" \t\r\n", *json->at)) json->at++;
    if (json->at == json->end) return '\0';
    return *json->at;
}

bool json_take(Json *json, char c) {
    if (json_next(json) != c || json->at == json->end) return false;
    json->at++;
    return true;
}

bool json_expect(Json *json, char c) {
    if (json_take(json, c)) return true;
    char what[] = "no '?'";
    what[4] = c;
    return json_refuse(json, what);
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
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF)) return json_refuse(json, "a bad \\u");
    *code = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) return true;
    if (json->end - json->at < 2 || *json->at++ != '\\' || *json->at++ != 'u')
        return json_refuse(json, "half a surrogate pair");
    int32_t second = hex_four(json);
    if (second < 0xDC00 || second > 0xDFFF) return json_refuse(json, "half a surrogate pair");
    *code = 0x10000 + (((uint32_t)first & 0x3FF) << 10 | ((uint32_t)second & 0x3FF));
    return true;
}

/* Decoding in place works because no escape is shorter than its character. */
bool json_string(Json *json, char **text, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!json_expect(json, '"')) return false;
    char *to = *text = json->at;
    for (;;) {
        if (json->at == json->end) return json_refuse(json, "an unclosed string");
        uint32_t code;
        int taken = utf8_decode(json->at, (size_t)(json->end - json->at), &code);
        if (taken <= 0) return json_refuse(json, "invalid UTF-8");
        if (code < 0x20) return json_refuse(json, "a control character in a string");
        json->at += taken;
        if (code == '"') break;
        if (code == '\\') {
            if (json->at == json->end) return json_refuse(json, "an unclosed string");
            char c = *json->at++;
            const char *escape = strchr(escapes, c);
            if (c == 'u') {
                if (!escaped_code(json, &code)) return false;
            } else if (c && escape) {
                code = (uint32_t)(unsigned char)meanings[escape - escapes];
            } else {
                return json_refuse(json, "an unknown escape");
            }
        }
        to += utf8_encode(code, to);
    }
    *length = (size_t)(to - *text);
    *to = 0;
    return true;
}

bool json_name(Json *json, const char **name) {
    char *text;
    size_t length;
    *name = "";
    if (!json_string(json, &text, &length)) return false;
    if (strlen(text) != length) return json_refuse(json, "a zero byte in a name");
    *name = text;
    return true;
}

static bool is_digit(const Json *json) {
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

bool json_size(Json *json, size_t *size) {
    json_next(json);
    char *digits = json->at;
    size_t value = 0;
    for (; is_digit(json); json->at++) {
        size_t digit = (size_t)(*json->at - '0');
        if (value > (SIZE_MAX - digit) / 10) return json_refuse(json, "a number too large");
        value = 10 * value + digit;
    }
    if (json->at == digits || (*digits == '0' && json->at - digits > 1))
        return json_refuse(json, "no whole number");
    *size = value;
    return true;
}

static bool skip_digits(Json *json) {
    if (!is_digit(json)) return json_refuse(json, "no digit");
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

bool json_literal(Json *json, const char **text, size_t *length) {
    static const char *const words[] = {"true", "false", "null"};
    char next = json_next(json);
    *text = json->at;
    *length = 0;
    if (next == '-' || is_digit(json)) {
        if (!skip_number(json)) return false;
        *length = (size_t)(json->at - *text);
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(json->end - json->at) < size || memcmp(json->at, words[i], size) != 0)
            continue;
        json->at += size;
        *length = size;
        return true;
    }
    return json_refuse(json, "no value");
}

static bool skip_scalar(Json *json) {
    char *text;
    const char *literal;
    size_t length;
    if (json_next(json) == '"') return json_string(json, &text, &length);
    return json_literal(json, &literal, &length);
}

/* Skips the key before a value if in an object. */
static bool skip_key(Json *json, char closing) {
    const char *key;
    return closing != '}' || (json_name(json, &key) && json_expect(json, ':'));
}

bool json_skip(Json *json) {
    enum { DEEPEST = 64 };
    char closing[DEEPEST]; /* of each open bracket */
    int depth = 0;
    do {
        char next = json_next(json);
        bool opens = next == '{' || next == '[', empty = false;
        if (opens) {
            if (depth == DEEPEST) return json_refuse(json, "too many brackets within brackets");
            json->at++;
            closing[depth++] = next == '{' ? '}' : ']';
            empty = json_next(json) == closing[depth - 1];
        } else if (!skip_scalar(json)) {
            return false;
        }
        /* after a value or an empty bracket: close brackets until a comma */
        while (depth > 0 && (!opens || empty) && (empty || !json_take(json, ','))) {
            if (!json_expect(json, closing[--depth])) return false;
            opens = empty = false;
        }
        if (depth > 0 && !skip_key(json, closing[depth - 1])) return false;
    } while (depth > 0);
    return true;
}

bool json_close(Json *json) {
    json_next(json);
    return json->at == json->end || json_refuse(json, "something after the end");
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
