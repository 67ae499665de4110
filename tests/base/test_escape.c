/* test_escape.c - output of text from files and users: safe on a terminal, readable by a shell. */
#include "tests/support.h"
#include "base/escape.h"
#include "base/terminal.h"
#include "programs/train/shell.h"

#include <locale.h>

/* The output of `print`. Valid until the next call. */
static const char *printed(void (*print)(FILE *out, const char *text, size_t length),
                           const char *text, size_t length) {
    static char *shown;
    FILE *out = tmpfile();
    assert_non_null(out);
    print(out, text, length);
    return shown = stream_text(out, &length);
}

static void print_line(FILE *out, const char *text, size_t length) {
    escape_print(out, text, length, "");
}

static void print_lines(FILE *out, const char *text, size_t length) {
    escape_print(out, text, length, "\n\t");
}

static void expect_line(const char *text, size_t length, const char *expected) {
    char copy[256];
    assert_string_equal(printed(print_line, text, length), expected);
    if (memchr(text, 0, length)) return;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    char shown[sizeof copy];
    escape_copy(shown, sizeof shown, copy);
    assert_string_equal(shown, expected);
}

TEST(signs) {
    static const struct {
        const char *text;
        size_t length;
        const char *shown;
    } cases[] = {
#define CASE(text, shown) {text, sizeof text - 1, shown}
        CASE("", ""),
        CASE("plain, \\x1b and 好 and ô and 🙂", "plain, \\x1b and 好 and ô and 🙂"),
        CASE("\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"),
        CASE("a\nb\tc\rd\0e\177f", "a\\x0ab\\x09c\\x0dd\\x00e\\x7ff"),
        CASE("\xC2\x9B"
             "31m \xC2\x80 \xC2\x9F \xC2\xA0",
             "\\x9b31m \\x80 \\x9f \xC2\xA0"),
        CASE("\x9B"
             "31m \xFF",
             "\\x9b31m \\xff"),
        CASE("\xE5\xA5", "\\xe5\\xa5"),          /* cut short */
        CASE("\xC0\x8A", "\\xc0\\x8a"),          /* over-long */
        CASE("\xED\xA0\x80", "\\xed\\xa0\\x80"), /* a surrogate */
        CASE("\u202A\u202B\u202C\u202D\u202E.\u2029\u202F",
             "\\u202a\\u202b\\u202c\\u202d\\u202e.\u2029\u202F"),
        CASE("\u2066\u2067\u2068\u2069.\u2065\u206A", "\\u2066\\u2067\\u2068\\u2069.\u2065\u206A"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_line(cases[i].text, cases[i].length, cases[i].shown);
    assert_string_equal(printed(print_lines, "a\n\tb\r\v\0\033", 8), "a\n\tb\\x0d\\x0b\\x00\\x1b");
}

/* Every character either stays or becomes letters, digits and a backslash. */
TEST(every_character) {
    int escaped = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        char text[UTF8_MAX], shown[ESCAPE_SIZE];
        if (code >= 0xD800 && code < 0xE000) continue;
        size_t length = (size_t)utf8_encode(code, text);
        assert_int_equal(escape_first(text, length, shown), length);
        assert_true(strlen(shown) >= length);
        if (strlen(shown) == length && memcmp(shown, text, length) == 0) continue;
        assert_int_equal(*shown, '\\');
        assert_int_equal(strspn(shown, "\\xu0123456789abcdef"), strlen(shown));
        escaped++;
    }
    assert_int_equal(escaped, 32 + 33 + 9);
}

/* Copies the whole characters that fit. */
TEST(copy) {
    static const char text[] = "a好\033\u202Eb", shown[] = "a好\\x1b\\u202eb";
    static const size_t ends[] = {0, 1, 4, 8, 14, 15};
    for (size_t capacity = 1; capacity <= sizeof shown + 2; capacity++) {
        char copy[sizeof shown + 4];
        size_t fits = 0;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            if (ends[i] < capacity) fits = ends[i];
        memset(copy, '#', sizeof copy);
        escape_copy(copy, capacity, text);
        assert_int_equal(strlen(copy), fits);
        assert_memory_equal(copy, shown, fits);
        assert_int_equal(copy[capacity], '#');
    }
}

static int columns, column; /* of the terminal; of the end of the words */

static void print_words(FILE *out, const char *text, size_t length) {
    (void)length;
    column = escape_words(out, text, 3, 2, columns);
}

/* A word that would end beyond the last column begins a line. A character is as wide as on a
 * terminal: two columns, one or none. */
TEST(columns) {
    static const struct {
        const char *word, *shown;
        int width;
    } words[] = {{"a", "a", 1},
                 {"好好", "好好", 4},
                 {"e\u0301x", "e\u0301x", 2},
                 {"b\033\u202E", "b\\x1b\\u202e", 11},
                 {"\\", "\\", 1},
                 {"x好", "x好", 3}};
    setlocale(LC_CTYPE, "C.UTF-8");
    if (width_of(0x4E00) != 2) skip();
    for (columns = 1; columns < 40; columns++) {
        char text[64] = "", expected[128] = "";
        int at = 3;
        for (int i = 0; i < COUNT(words); i++) {
            const char *blanks = i == 0 ? "" : i == 3 ? "  " : " ";
            const int width = (int)strlen(blanks) + words[i].width;
            const bool begins_line = at > 2 && at + width > columns;
            sprintf(text + strlen(text), "%s%s", blanks, words[i].word);
            sprintf(expected + strlen(expected), "%s%s", begins_line ? "\n  " : blanks,
                    words[i].shown);
            at = begins_line ? 2 + words[i].width : at + width;
        }
        assert_string_equal(printed(print_words, text, 0), expected);
        assert_int_equal(column, at);
    }
}

/* ---- for the shell ---- */

#define WRITE(kind)                                                             \
    static void write_##kind(FILE *out, const char *text, size_t length) {      \
        (void)length;                                                           \
        Buffer word = buffer_begin("the word", &err);                           \
        shell_##kind(&word, text);                                              \
        assert_int_equal(fwrite(word.bytes, 1, word.length, out), word.length); \
        buffer_end(&word);                                                      \
    }
WRITE(word)
WRITE(path)
WRITE(program)

/* The shell reads back the word, escaped. On the terminal it is printable. */
static void check_word(const char *word) {
    char found[1024], shown[4096];
    const char *written = printed(write_word, word, 0);
    escape_copy(shown, sizeof shown, written);
    assert_string_equal(shown, written);
    escape_copy(shown, sizeof shown, word);
    /* `set` shows whether the shell reads one word or several */
    FILE *shell = popen(formatted("set -- %s; printf '%%s|' \"$#\" \"$@\"", written), "r");
    assert_non_null(shell);
    size_t length = fread(found, 1, sizeof found - 1, shell);
    assert_int_equal(pclose(shell), 0);
    found[length] = 0;
    if (strcmp(found, formatted("1|%s|", shown)) != 0) fail_msg("%s: read as %s", written, found);
}

/* Every byte at the beginning, in the middle and at the end of a word; and several together. */
TEST(words) {
    static const char *const words[] = {
        "",       "my text.txt",    "''a'",     "$HOME `id` $(id) \"\\", "{i,j}",
        "好 ô",   "it's \033 100%", "\\033 %s", "\xC2\x9B\x9B\xFF",      "\u202Etxt.exe",
        "a \n\n", "a\033\n\n"};
    skip_without(SHELL_TOOLS);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) check_word(words[i]);
    for (int byte = 1; byte < 256; byte++)
        check_word((char[]){(char)byte, 'a', (char)byte, 'a', (char)byte, 0});
}

/* A word that needs no quotes gets none. */
TEST(plain) {
    static const char *const same[] = {"out/model.safetensors", "--width=128",
                                       "/a/b_c-d.e:f,g+h@i%j"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(printed(write_word, same[i], 0), same[i]);
    assert_string_equal(printed(write_word, "my text.txt", 0), "'my text.txt'");
    assert_string_equal(printed(write_word, "it's", 0), "'it'\\''s'");
    assert_string_equal(printed(write_word, "a\033[0m", 0), "'a\\x1b[0m'");
    assert_string_equal(printed(write_path, "-a b", 0), "./'-a b'");
    assert_string_equal(printed(write_path, "-", 0), "-");
    assert_string_equal(printed(write_path, "a-b", 0), "a-b");
    assert_string_equal(printed(write_program, "tril train", 0), "tril train");
    assert_string_equal(printed(write_program, "my files/tril sample", 0),
                        "'my files/tril' sample");
    assert_string_equal(printed(write_program, "my trim", 0), "'my trim'");
}
