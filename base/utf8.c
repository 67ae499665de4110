#include "base/utf8.h"

#include <string.h>

/* The first byte gives the length and the range of the second byte. That range excludes over-long
 * forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4). */
int utf8_decode(const char *text, size_t length, uint32_t *code) {
    if (length == 0) return -1;
    unsigned char first = (unsigned char)text[0];
    unsigned char low = 0x80, high = 0xBF;
    int count;
    if (first < 0x80) {
        *code = first;
        return 1;
    } else if (first >= 0xC2 && first <= 0xDF) {
        count = 2;
        *code = first & 0x1Fu;
    } else if (first >= 0xE0 && first <= 0xEF) {
        count = 3;
        *code = first & 0x0Fu;
        if (first == 0xE0) low = 0xA0;
        if (first == 0xED) high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        count = 4;
        *code = first & 0x07u;
        if (first == 0xF0) low = 0x90;
        if (first == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    for (int i = 1; i < count; i++) {
        if ((size_t)i == length) return -1;
        unsigned char next = (unsigned char)text[i];
        if (next < low || next > high) return 0;
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

int utf8_stream(Utf8Stream *stream, char byte, char *text) {
    int written = 0;
    stream->bytes[stream->count++] = byte;
    while (stream->count > 0) {
        uint32_t code;
        int taken = utf8_decode(stream->bytes, (size_t)stream->count, &code);
        if (taken < 0) break; /* incomplete */
        if (taken == 0) {
            taken = 1;
            code = 0xFFFD;
        }
        written += utf8_encode(code, text + written);
        stream->count -= taken;
        memmove(stream->bytes, stream->bytes + taken, (size_t)stream->count);
    }
    return written;
}
