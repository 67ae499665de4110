/* test_json.c - the JSON reader, value by value, with text that ends at an unreadable page; the
 * writer, read back. (test_safetensors.c also tests strings and headers.) */
#include "tests/scratch.h"
#include "base/json.h"

static Error error;

static Json open_text(const char *text) {
    error = (Error){0};
    return json_open("name", "not valid JSON", guarded(text, strlen(text)), strlen(text), &error);
}

static void assert_refused(bool ok, const char *text, const char *says) {
    if (ok) fail_msg("accepted: %s", text);
    if (strncmp(error.text, "name: not valid JSON: ", 22) != 0 || !strstr(error.text, says))
        fail_msg("%s: '%s' does not say '%s'", text, error.text, says);
}

/* Every kind of value is skipped exactly to its last byte. */
static void test_skip(void **state) {
    (void)state;
    static const char *const values[] = {
        "0",
        "-0",
        "12",
        "-1.5",
        "1e9",
        "0.25E-3",
        "1E+05",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a\\n\\u00e9\"",
        "[]",
        "{}",
        "[1, [2], {}]",
        "{\"a\": 1}",
        "{ \"a\" : [ ] , \"\" : { \"b\" : null } }",
    };
    char text[128];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(text, sizeof text, " %s \n", values[i]);
        Json json = open_text(text);
        if (!json_skip(&json) || !json_close(&json)) fail_msg("%s: %s", text, error.text);
        snprintf(text, sizeof text, "[%s,7]", values[i]);
        json = open_text(text);
        size_t seven = 0;
        assert_true(json_take(&json, '[') && json_skip(&json) && json_take(&json, ','));
        assert_true(json_size(&json, &seven) && json_take(&json, ']') && json_close(&json));
        assert_int_equal(seven, 7);
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "no value at byte 0"},
        {"nul", "no value"},
        {"True", "no value"},
        {"+1", "no value"},
        {".5", "no value"},
        {"-", "no digit"},
        {"1.", "no digit"},
        {"1e", "no digit"},
        {"1e+", "no digit"},
        {"01", "after the end at byte 1"},
        {"1 2", "after the end"},
        {"[1", "no ']'"},
        {"[1,", "no value"},
        {"[,1]", "no value"},
        {"[1}", "no ']'"},
        {"{1:2}", "no '\"'"},
        {"{\"a\" 1}", "no ':'"},
        {"{\"a\":1,}", "no '\"'"},
        {"{\"a\":1", "no '}'"},
        {"{\"\\u0000\":1}", "a zero byte in a name"},
        {"\"a", "unclosed"},
        {"\"\n\"", "control character"},
        {"\"\xC3\"", "invalid UTF-8"},
        {"\"\\x\"", "unknown escape"},
        {"\"\\ud800\"", "half a surrogate"},
        {"'a'", "no value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Json json = open_text(bad[i].text);
        assert_refused(json_skip(&json) && json_close(&json), bad[i].text, bad[i].says);
    }
}

/* The maximum depth, and one more. */
static void test_depth(void **state) {
    (void)state;
    char text[2 * 65 + 1];
    for (int deep = 64; deep <= 65; deep++) {
        memset(text, '[', (size_t)deep);
        memset(text + deep, ']', (size_t)deep);
        text[2 * deep] = 0;
        Json json = open_text(text);
        bool ok = json_skip(&json) && json_close(&json);
        if (deep == 64)
            assert_true(ok);
        else
            assert_refused(ok, text, "too many brackets");
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {{"-1", "no whole number"},
               {"01", "no whole number"},
               {"\"1\"", "no whole number"},
               {"99999999999999999999", "a number too large"}};
    size_t size;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Json json = open_text(bad[i].text);
        assert_refused(json_size(&json, &size), bad[i].text, bad[i].says);
    }
    Json json = open_text(" 18446744073709551615");
    assert_true(json_size(&json, &size));
    assert_true(size == SIZE_MAX);
}

/* A literal is returned as written. */
static void test_literals(void **state) {
    (void)state;
    Json json = open_text("[-1e-05,false,\"x\"]");
    const char *text;
    size_t length;
    assert_true(json_take(&json, '[') && json_literal(&json, &text, &length));
    assert_int_equal(length, 6);
    assert_memory_equal(text, "-1e-05", length);
    assert_true(json_take(&json, ',') && json_literal(&json, &text, &length));
    assert_int_equal(length, 5);
    assert_true(json_take(&json, ','));
    assert_false(json_literal(&json, &text, &length));
}

/* Any text is read back as written, whatever its length. */
static void test_writing(void **state) {
    (void)state;
    char all[256 + 3000], *back;
    size_t count = 0, length;
    for (int c = 0; c < 0x80; c++) all[count++] = (char)c;
    memcpy(all + count, "é中𝄞", strlen("é中𝄞"));
    count += strlen("é中𝄞");
    while (count < sizeof all) all[count++] = '\n';
    Buffer text = buffer_begin("name", &error);
    buffer_printf(&text, "[%d, ", 3);
    json_quote(&text, all, count);
    for (int i = 0; i < 2000; i++) buffer_printf(&text, ", %d", i);
    buffer_printf(&text, "]");
    assert_false(text.failed);
    Json json = json_open("name", "not valid JSON", text.bytes, text.length, &error);
    size_t number;
    assert_true(json_take(&json, '[') && json_size(&json, &number) && json_take(&json, ','));
    assert_true(json_string(&json, &back, &length));
    assert_int_equal(length, count);
    assert_memory_equal(back, all, count);
    for (size_t i = 0; i < 2000; i++) {
        assert_true(json_take(&json, ',') && json_size(&json, &number));
        assert_int_equal(number, i);
    }
    assert_true(json_take(&json, ']') && json_close(&json));
    buffer_end(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skip),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_depth),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_literals), cmocka_unit_test(test_writing),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
