/* characters.c - the characters of a text's bytes. */
#include "data/data.h"

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
    int taken = 1;
    if (left == 0) return false;
    *code = (unsigned char)*at;
    if (!c->known->bytes) taken = utf8_decode(at, left, code);
    if (taken <= 0) return false;
    if ((*code == '\r' || *code == 0) && vocab_id(c->known, *code) == NO_ID) {
        if (*code == 0) return false;
        *code = '\n';
        taken += left > 1 && at[1] == '\n';
    }
    c->at += (size_t)taken;
    return true;
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
                   likely ? " -t UTF-8 FILE >NEW` converts it" : "", hint);
}
