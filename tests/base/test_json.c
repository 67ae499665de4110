/* test_json.c - the JSON reader, value by value, with text that ends at an unreadable page; the
 * writer, read back. (test_safetensors.c also tests strings and headers.) */
#include "tests/scratch.h"
#include "base/json.h"
#include "base/memory.h"

static JsonValue *root;

/* Reads the text, whose root is then released by release. */
static bool read_text(const char *text) {
    err = (Error){0};
    return json_read(&root, "name", "not valid JSON", guarded(text, strlen(text)), strlen(text),
                     &err);
}

static void assert_read(const char *text) {
    if (!read_text(text)) fail_msg("%s: %s", text, err.text);
}

static void release(void) {
    memory_free(root);
}

static void assert_refused(const char *text) {
    if (read_text(text)) fail_msg("accepted: %s", text);
    expect_case(text, err, "name: ");
    assert_null(root);
}

/* Every kind of value is read exactly to its last byte. */
TEST(values) {
    static const char *const values[] = {"0",        "-0",           "12",
                                         "-1.5",     "1e9",          "0.25E-3",
                                         "1E+05",    "true",         "false",
                                         "null",     "''",           "'a\\n\\u00e9'",
                                         "[]",       "{}",           "[1 , [2], {}]",
                                         "{'a': 1}", "{'b' : [ ] }", "{'' : {}}"};
    for (int i = 0; i < COUNT(values); i++) {
        const char *value = quoted(values[i]);
        assert_read(formatted(" %s \n", value));
        release();
        assert_read(formatted("[%s,7]", value));
        size_t seven = 0;
        const JsonValue *second = json_next(root, json_first(root));
        assert_true(second && json_size(second, &seven) && !json_next(root, second));
        assert_int_equal(seven, 7);
        release();
    }
}

/* No numbers and names, lists and objects, or strings. */
/* clang-format off */
static const char *const no_json[] = {
    "", "  ", "nul", "True", "+1", ".5", "-", "1.", "1e", "1e+", "01", "0x1", "1 2", "[1",
    "[1,", "[1,]", "[,1]", "[1 1]", "[1}", "{", "{a:1}", "{,}", "{}}", "{}{}", "{} //",
    "{1:2}", "{'a' 1}", "{'a',1}", "{'a':1,}", "{'a':1", "{'a':1 'b':2}", "\xEF\xBB\xBF{}",
    "'a", "'a\\", "'\n'", "'\t'", "'\x1F'", "'\xC3'", "'\xFF'", "'\xE4\xB8", "'\\x'", "'\\0'",
    "'\\U0041'", "'\\\n'", "'\\\xC3\xA9'", "'\\u'", "'\\u00", "'\\u12g4'", "'\\u-123'",
    "'\\ude00'", "'\\ud800", "'\\ud800'", "'\\ud800\\", "'\\ud800\\ude0", "'\\ud800\\ue000'",
    "'\\ud800\\u0041'", "'\\ud800\\ud800'", "'\\ud800\\n1234'", "'\\ud800xx1234'",
};
/* clang-format on */

TEST(refusals) {
    for (int i = 0; i < COUNT(no_json); i++) assert_refused(quoted(no_json[i]));
    assert_refused("'a'");
    assert_refused(quoted("{'b':1,'a':{},'\\u0062':[]}")); /* twice the same key */
    assert_refused(quoted("[{'\\u0000':1,'\\u0000':2}]"));
}

/* The maximum depth, and one more. */
TEST(depth) {
    char text[2 * 65 + 1];
    for (int deep = 64; deep <= 65; deep++) {
        memset(text, '[', (size_t)deep);
        memset(text + deep, ']', (size_t)deep);
        text[2 * deep] = 0;
        if (deep == 65)
            assert_refused(text);
        else
            assert_read(text);
        release();
    }
}

/* More values than are allowed are an err before there is memory for them. */
TEST(many) {
    const size_t length = ((size_t)1 << 23) + 1;
    char *text = scrap(length, 1);
    memset(text, ',', length);
    assert_false(json_read(&root, "name", "not valid JSON", text, length, &err));
    expect_error(err, "name: ");
}

TEST(sizes) {
    static const char *const bad[] = {"-1",   "1.0", "1e0", "\"1\"", "99999999999999999999",
                                      "true", "[]"};
    size_t size;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_read(bad[i]);
        assert_false(json_size(root, &size));
        release();
    }
    assert_read(formatted(" %zu", SIZE_MAX));
    assert_true(json_size(root, &size));
    assert_true(size == SIZE_MAX);
    release();
}

/* Members are found by key. Keys with a zero byte are others. */
TEST(members) {
    assert_read("{\"a\\u0000\":0,\"a\":-1e-05,\"d\":[\"\",\"x\\u0000\"],\"n\":null}");
    const JsonValue *number = json_member(root, "a"), *list = json_member(root, "d");
    assert_true(number && number->kind == JSON_LITERAL);
    assert_int_equal(number->length, 6);
    assert_memory_equal(number->text, "-1e-05", number->length);
    assert_null(json_member(root, "b"));
    assert_null(json_member(list, "a"));
    assert_null(json_first(number));
    assert_null(json_first(NULL));
    const JsonValue *empty = json_first(list), *zero = json_next(list, empty);
    const char *name;
    assert_true(json_name(empty, &name) && !*name);
    assert_false(json_name(zero, &name) || json_name(number, &name));
    int count = 0;
    json_each(member, root) count++;
    assert_int_equal(count, 4);
    release();
}

/* Any text is read back as written, whatever its length. */
TEST(writing) {
    char all[256 + 3000];
    size_t count = 0;
    for (int c = 0; c < 0x80; c++) all[count++] = (char)c;
    memcpy(all + count, "é中𝄞", strlen("é中𝄞"));
    count += strlen("é中𝄞");
    while (count < sizeof all) all[count++] = '\n';
    Buffer text = buffer_begin("name", &err);
    buffer_printf(&text, "[%d, ", 3);
    json_quote(&text, all, count);
    for (int i = 0; i < 2000; i++) buffer_printf(&text, ", %d", i);
    buffer_printf(&text, "]");
    assert_false(text.failed);
    assert_ok(json_read(&root, "name", "not valid JSON", text.bytes, text.length, &err), err);
    size_t number, i = 0;
    const JsonValue *string = json_next(root, json_first(root));
    assert_int_equal(string->length, count);
    assert_memory_equal(string->text, all, count);
    for (const JsonValue *v = json_next(root, string); v; v = json_next(root, v)) {
        assert_true(json_size(v, &number));
        assert_int_equal(number, i++);
    }
    assert_int_equal(i, 2000);
    release();
    buffer_end(&text);
    text = buffer_begin("name", &err);
    assert_true(buffer_reserve(&text, 4096) && text.capacity > 4096); /* with the zero byte */
    json_quote(&text, "a\xFF\xC3", 3);                                /* which is not UTF-8 */
    assert_string_equal(text.bytes, "\"a\uFFFD\uFFFD\"");
    buffer_end(&text);
}

FIXTURE(scratch_open, scratch_close)
