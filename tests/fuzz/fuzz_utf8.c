/* fuzz_utf8.c - decodes characters one by one, and the same bytes as a stream. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"
#include "base/utf8.h"

#include <string.h>

/* The result is a code point that encodes to the same bytes. */
static void check_character(const char *text, int taken, uint32_t code) {
    char again[UTF8_MAX];
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) fuzz_fail("a code point");
    if (utf8_encode(code, again) != taken || memcmp(again, text, (size_t)taken) != 0)
        fuzz_fail("the same bytes again");
}

/* Any bytes become valid characters. Half a character at the end is kept back. */
static void check_stream(const char *text, size_t length) {
    Utf8Stream stream = {{0}, 0};
    for (size_t i = 0; i < length; i++) {
        char out[4 * UTF8_MAX];
        int count = utf8_stream(&stream, text[i], out);
        if (count < 0 || count > 4 * UTF8_MAX) fuzz_fail("a count of bytes");
        for (int at = 0; at < count;) {
            uint32_t code;
            int taken = utf8_decode(out + at, (size_t)(count - at), &code);
            if (taken <= 0) fuzz_fail("a stream of whole characters");
            at += taken;
        }
    }
}

void fuzz_utf8(const uint8_t *bytes, size_t length) {
    char *text = guarded(bytes, length);
    if (!text) return;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        int taken = utf8_decode(text + at, length - at, &code);
        if (taken < -1 || taken > UTF8_MAX || (taken > 0 && (size_t)taken > length - at))
            fuzz_fail("a count of bytes");
        if (taken == -1 && length - at >= UTF8_MAX) fuzz_fail("a character that is cut short");
        if (taken > 0) check_character(text + at, taken, code);
        at += taken > 0 ? (size_t)taken : 1;
    }
    check_stream(text, length);
}
