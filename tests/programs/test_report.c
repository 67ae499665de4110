/* test_report.c - glyphs, maps and the width of a terminal. */
#include "tests/screenful.h"
#include "base/escape.h"

/* ---- glyphs ---- */

TEST(glyphs) {
    static const char *const expected[][2] = {
        {"\n", "↵ "},     {"\t", "⇥ "},     {" ", "␣ "},      {"a", "a "},
        {"\033", "· "},   {"\x7F", "· "},   {"好", "好"},     {"\u0301", "◌\u0301 "},
        {"\u3000", "␣ "}, {"\u202E", "· "}, {"\u061C", "· "}, {"\U000E0041", "· "}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(glyph_padded(tokenizer_of(expected[i][0]), 0).text, expected[i][1]);
    }
    TrilTokenizer *bytes;
    assert_int_equal(tril_tokenizer_of_bytes(&bytes, NULL), TRIL_OK);
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

/* ---- the width of a terminal ---- */

/* The width without a window, and color without a terminal. */
TEST(screen) {
    FILE *file = tmpfile();
    setenv("COLUMNS", "132", 1);
    Sheet screen = screen_of(file);
    assert_true(screen.columns == 132 && !screen.color && screen.out == file);
    setenv("COLUMNS", "4294967297", 1);
    assert_int_equal(screen_of(file).columns, 1000);
    setenv("COLUMNS", "5", 1);
    assert_int_equal(screen_of(file).columns, 20);
    setenv("COLUMNS", "0", 1);
    assert_int_equal(screen_of(file).columns, 80);
    unsetenv("COLUMNS");
    assert_int_equal(screen_of(file).columns, 80);
    fclose(file);
}

/* ---- maps ---- */

static Output draw_maps(int columns, bool color, const HeadMap *maps, int count, int T,
                        const Glyph *glyphs) {
    Output page = output_open(columns, color);
    page.sheet.T = T;
    page.sheet.glyphs = glyphs;
    page.sheet.kind->maps(&page.sheet, maps, count);
    output_end(&page);
    return page;
}

TEST(maps) {
    enum { T = 3 };
    static const float weights[2][T * T] = {{1, 0, 0, 0.96f, 0.04f, 0, 0.3f, 0.44f, 0.26f},
                                            {1, 0, 0, 0.5f, 0.5f, 0, 0.06f, 0.1f, 0.84f}};
    static const Glyph glyphs[T] = {{"a ", 1}, {"好", 2}, {"c ", 1}};
    const HeadMap maps[] = {{0, 7, weights[0]}, {0, -1, weights[1]}};
    Output page = draw_maps(80, false, maps, 2, T, glyphs);
    const char *legend = expect_line_of(page.text, "", TEXTS("(", "0.05", "9", "0.85"));
    assert_string_equal(strchr(legend, '\n'), "\n");
    page.text[legend - page.text] = 0;
    double head;
    assert_true(numbers_of(page.text + 1, &head, 1) == 1 && head == 7);
    assert_string_equal(strchr(page.text + 1, '\n'), "\n   a 好c      a 好c \n"
                                                     "a  9       a  9     \n"
                                                     "好 9 .     好 5 5   \n"
                                                     "c  3 4 3   c  1 1 8 \n");
    /* one below the other, in color; the lightest is the most */
    page = draw_maps(12, true, maps, 2, T, glyphs);
    assert_non_null(strstr(strstr(page.text, "\n   a 好c \n") + 1, "\n   a 好c \n"));
    assert_non_null(strstr(page.text, "a  \033[48;5;230m  \033[0m    \n"));
    check_width(page.text, 12);
    /* too narrow for all tokens: the last one stays */
    page = draw_maps(7, false, maps, 1, T, glyphs);
    assert_non_null(strstr(page.text, " 7\n   ..c \n..\nc  ..3 \n  (1 "));
    static const Glyph more[] = {{"a ", 1}, {"b ", 1}, {"c ", 1}, {"d ", 1}};
    page = draw_maps(9, false, &(HeadMap){0, 7, (float[16]){0}}, 1, 4, more); /* the first, too */
    assert_non_null(strstr(page.text, " 7\n   a ..d \na  .     \n..\nd  . ... \n  (2 "));
}
