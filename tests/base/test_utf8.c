/* test_utf8.c - bytes to characters and back, for all code points. Texts end at an unreadable page:
 * reading one byte too far crashes. (test_data and test_safetensors have known values.) */
#include "tests/scratch.h"

static int decode(const char *bytes, size_t length, uint32_t *code) {
    return utf8_decode(guarded(bytes, length), length, code);
}

TEST(every_code_point) {
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        char text[UTF8_MAX];
        uint32_t back = ~code;
        int length = utf8_encode(code, text);
        int expected = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (length != expected || decode(text, (size_t)length, &back) != length || back != code)
            fail_msg("U+%04X: %d bytes, back U+%04X", (unsigned)code, length, (unsigned)back);
        for (int cut = 0; cut < length; cut++)
            if (decode(text, (size_t)cut, &back) != -1)
                fail_msg("U+%04X cut to %d bytes", (unsigned)code, cut);
    }
}

/* The pairs below lack these cases: a 3rd or 4th byte that is not a continuation. */
TEST(invalid) {
    static const char *const invalid[] = {"\xE4\xB8(", "\xE4\xB8\xE4", "\xF0\x9F(\x80",
                                          "\xF0\x9F\x98(", "\xF0\x9F\x98\xF0"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        uint32_t code;
        assert_int_equal(decode(invalid[i], strlen(invalid[i]), &code), 0);
    }
    assert_true(utf8_valid("aé"));
    assert_false(utf8_valid("a\xFF"));
}

/* Counts the valid pairs of first bytes before two continuation bytes and compares with RFC 3629.
 * The code points round-trip, so these are the right ones. */
TEST(counts) {
    int counts[UTF8_MAX + 1] = {0}, cut = 0;
    uint32_t code;
    for (int pair = 0; pair < 65536; pair++) {
        char text[4] = {(char)(pair >> 8), (char)pair, '\x80', '\x80'};
        int taken = decode(text, 4, &code);
        assert_in_range(taken, 0, UTF8_MAX);
        counts[taken]++;
        cut += decode(text, 2, &code) == -1;
    }
    assert_int_equal(counts[1], 128 * 256);
    assert_int_equal(counts[2], 30 * 64);
    assert_int_equal(counts[3], 32 + 14 * 64 + 32);
    assert_int_equal(counts[4], 48 + 3 * 64 + 16);
    assert_int_equal(cut, counts[3] + counts[4]);
}
