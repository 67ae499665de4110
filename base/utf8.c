#include "base/utf8.h"

#include <string.h>

/* The first byte gives the length and the range of the second byte. That range excludes over-long
 * forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4). */
int utf8_decode(const char *text, size_t length, uint32_t *code) {
    if (length == 0) return UTF8_CUT;
    unsigned char first = (unsigned char)text[0];
    *code = first;
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return UTF8_INVALID;
    int count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    *code = first & (0x7Fu >> count);
    for (int i = 1; i < count; i++) {
        if ((size_t)i == length) return UTF8_CUT;
        unsigned char next = (unsigned char)text[i];
        if (next < low || next > high) return UTF8_INVALID;
        *code = *code << 6 | (next & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    return count;
}

int utf8_encode(uint32_t code, char text[UTF8_MAX]) {
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    int count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (int i = count - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    text[0] = (char)(lead[count] | code);
    return count;
}

bool utf8_valid(const char *text) {
    uint32_t code;
    for (size_t left = strlen(text); left > 0;) {
        int bytes = utf8_decode(text, left, &code);
        if (bytes <= 0) return false;
        text += bytes;
        left -= (size_t)bytes;
    }
    return true;
}
