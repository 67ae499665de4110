/* test_glyph.c - visible characters. */
#include "tests/objects.h"
#include "base/escape.h"
#include "programs/glyph.h"

#include <locale.h>

/* Characters have the widths of a usual terminal. */
__attribute__((constructor)) static void know_characters(void) {
    setlocale(LC_CTYPE, "C.UTF-8");
}

TEST(glyphs) {
    static const char *const expected[][2] = {
        {"\n", "↵ "},     {"\t", "⇥ "},     {" ", "␣ "},      {"a", "a "},
        {"\033", "· "},   {"\x7F", "· "},   {"好", "好"},     {"\u0301", "◌\u0301 "},
        {"\u3000", "␣ "}, {"\u202E", "· "}, {"\u061C", "· "}, {"\U000E0041", "· "}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(glyph_padded(tokenizer_of(expected[i][0]), 0).text, expected[i][1]);
    }
    TrilTokenizer *bytes;
    assert_int_equal(tril_tokenizer_of_bytes(&bytes, &error), TRIL_OK);
    assert_string_equal(glyph_padded(bytes, 'a').text, "a ");
    assert_string_equal(glyph_padded(bytes, '\r').text, "· ");
    assert_string_equal(glyph_padded(bytes, 0xA0).text, "· "); /* half a character, not a space */
    assert_string_equal(glyph_padded(bytes, 200).text, "· ");
    tril_tokenizer_free(bytes);
}

/* No control characters remain. */
TEST(safe_glyphs) {
    enum { END = 0x2100 };
    static char all[END * UTF8_MAX + 1];
    char *end = all;
    for (uint32_t code = 1; code < END; code++) end += utf8_encode(code, end);
    TrilTokenizer *tokenizer = tokenizer_of(all); /* the ids follow the order of the codes */
    for (uint32_t code = 1; code < END; code++) {
        if (code == '\r') continue; /* is read as a newline */
        char text[UTF8_MAX + 1] = "", shown[ESCAPE_SIZE];
        size_t length = (size_t)utf8_encode(code, text);
        const Glyph glyph = glyph_of(tokenizer, (int32_t)code - (code < '\r' ? 1 : 2));
        escape_first(text, length, shown);
        if (strcmp(shown, text) != 0 && code != '\n' && code != '\t')
            assert_string_equal(glyph.text, "·");
        for (const char *at = glyph.text; *at;) {
            size_t taken = escape_first(at, strlen(at), shown);
            assert_memory_equal(at, shown, taken);
            at += taken;
        }
    }
}

/* On a line spaces stay spaces. Glyphs that do not fit are dropped. */
TEST(line) {
    TrilTokenizer *tokenizer = tokenizer_of("\n a好");
    const int32_t ids[] = {2, 1, 3, 0, 3, 2};
    char text[64];
    glyph_line(tokenizer, ids, 6, 64, text, sizeof text);
    assert_string_equal(text, "a 好↵好a");
    glyph_line(tokenizer, ids, 6, 6, text, sizeof text); /* of columns */
    assert_string_equal(text, "a 好↵");
    glyph_line(tokenizer, ids, 6, 64, text, 9); /* of bytes */
    assert_string_equal(text, "a 好↵");
    glyph_line(tokenizer, ids, 0, 64, text, sizeof text);
    assert_string_equal(text, "");
}
