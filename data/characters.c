/* characters.c - the characters of a text's bytes, and the likely encoding of bytes that are none.
 */
#include "data/data.h"
#include "base/array.h"

#include <string.h>

Characters characters_of(const Vocab *known, const char *text, size_t length) {
    enum { MARK = 0xFEFF };
    Characters c = {known, text, length, 0};
    uint32_t code = 0;
    if (known->bytes) return c;
    const int taken = utf8_decode(text, length, &code);
    if (taken > 0 && code == MARK && vocab_id(known, MARK) == NO_ID) c.at = (size_t)taken;
    return c;
}

bool characters_read(Characters *c, uint32_t *code) {
    const char *at = c->text + c->at;
    const size_t left = c->length - c->at;
    if (left == 0) return false;
    *code = (unsigned char)*at;
    if (c->known->bytes) {
        c->at++;
        return true;
    }
    int taken = utf8_decode(at, left, code);
    if (taken <= 0) return false;
    if ((*code == '\r' || *code == 0) && vocab_id(c->known, *code) == NO_ID) {
        if (*code == 0) return false;
        *code = '\n';
        taken += left > 1 && at[1] == '\n';
    }
    c->at += (size_t)taken;
    return true;
}

/* ---- bytes that are no text ---- */

/* Returns true if the pairs of bytes, with the more significant one at `high`, 0 or 1, are text: no
 * control characters, at least one space or newline in 1,000 characters, and less than half of the
 * pairs would be printable ASCII. */
static bool is_utf16(const unsigned char *text, size_t length, int high) {
    size_t blanks = 0, ascii = 0;
    for (size_t i = 0; i + 1 < length; i += 2) {
        const int unit = text[i + (size_t)high] << 8 | text[i + 1 - (size_t)high];
        if (unit < '\t') return false;
        blanks += unit == ' ' || unit == '\n';
        ascii += text[i] >= ' ' && text[i] < 0x7F && text[i + 1] >= ' ' && text[i + 1] < 0x7F;
    }
    return blanks > length / 2000 && 4 * ascii < length;
}

/* Returns true if the bytes are GB18030: more than three quarters of the characters of two bytes
 * are of GB 2312, its oldest part; a quarter is enough if others are not of Big5. */
static bool is_gb18030(const unsigned char *text, size_t length) {
    size_t pairs = 0, oldest = 0, others = 0;
    for (size_t i = 0; i < length;) {
        const unsigned char first = text[i], second = i + 1 < length ? text[i + 1] : '0';
        const bool four = second >= '0' && second <= '9'; /* bytes, or the sample ends here */
        if (first >= 0x80 && !four) {
            if (first == 0x80 || first == 0xFF || second < 0x40 || second == 0x7F || second == 0xFF)
                return false;
            pairs++;
            oldest += first > 0xA0 && second > 0xA0;
            others += first <= 0xA0 || (second >= 0x80 && second <= 0xA0);
        }
        i += first < 0x80 ? 1 : four ? 4 : 2;
    }
    return 4 * oldest > (others > 0 ? 1 : 3) * pairs;
}

/* Returns true if a text of these bytes has errors, but is mostly UTF-8. */
static bool is_mostly_utf8(const char *text, size_t length) {
    size_t characters = 0, errors = 0;
    uint32_t code;
    for (size_t i = 0; i < length;) {
        const int taken = utf8_decode(text + i, length - i, &code);
        characters += taken > 1;
        errors += taken == UTF8_INVALID;
        i = taken == UTF8_CUT ? length : i + (taken > 0 ? (size_t)taken : 1);
    }
    return characters >= errors;
}

const char *encoding_of(const char *text, size_t length, size_t at) {
    enum { SAMPLE = 1 << 16 }; /* bytes to look at */
    static const char controls[] = "\t\n\f\r", undefined[] = "\x81\x8D\x8F\x90\x9D"; /* CP1252 */
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t from = at - min_size(at, SAMPLE / 2);
    size_t high = 0, alone = 0, c1 = 0, none = 0;
    if (length > 1 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return "UTF-16";
    if (is_utf16(bytes, min_size(length, SAMPLE), 1)) return "UTF-16LE";
    if (is_utf16(bytes, min_size(length, SAMPLE), 0)) return "UTF-16BE";
    const size_t end = from + min_size(length - from, SAMPLE);
    for (size_t i = from; i < end; i++) {
        if (bytes[i] < ' ' && !memchr(controls, text[i], sizeof controls - 1)) return NULL;
        if (bytes[i] < 0x80) continue;
        high++;
        alone += (i == from || bytes[i - 1] < 0x80) && (i + 1 == end || bytes[i + 1] < 0x80);
        c1 += bytes[i] < 0xA0;
        none += memchr(undefined, text[i], sizeof undefined - 1) != NULL;
    }
    if (is_mostly_utf8(text + from, end - from)) return NULL;
    if (2 * alone >= high) return none > 0 ? NULL : c1 > 0 ? "CP1252" : "LATIN1";
    return is_gb18030(bytes + from, end - from) ? "GB18030" : NULL;
}

bool characters_fail(const Characters *c, const char *hint, Error *err) {
    const char *text = c->text, *likely = encoding_of(text, c->length, c->at);
    size_t line = 1;
    for (size_t i = 0; i < c->at; i++)
        line += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
    return fail_as(TRIL_TEXT, err,
                   "line %zu: byte 0x%02X at offset %zu is not UTF-8 text%s%s%s%s%s%s", line,
                   (unsigned)(unsigned char)text[c->at], c->at, likely ? ", likely " : "",
                   likely ? likely : "", likely ? "; `iconv -f " : "", likely ? likely : "",
                   likely ? " -t UTF-8` converts it" : "", hint);
}
