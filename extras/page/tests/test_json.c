/* test_json.c - JSON in a script element. */
#include "extras/page/tests/json.h"
#include "extras/page/json.h"

static void expect_text(const char *text, const char *expected) {
    Json json = {.out = tmpfile()};
    json_text(&json, NULL, text);
    const char *written = stream_text(json.out, &(size_t){0});
    assert_string_equal(written, expected);
    assert_int_equal(*json_end(written), 0);
}

TEST(texts) {
    expect_text("</script><!--", "\"\\u003c/script\\u003e\\u003c!--\"");
    expect_text("a \"b\" \\ & \n\t好\xCC\x81",
                "\"a \\u0022b\\u0022 \\u005c \\u0026 \\u000a\\u0009好\xCC\x81\"");
    expect_text("\001\033[31m\177\xC2\x85\xE2\x80\xAE\xEF\xBB\xBF\xEF\xBF\xBF", "\"��[31m�����\"");
    expect_text("a\xC3(\xFF\xE2\x82", "\"a�(���\"");
}

TEST(nesting) {
    Json json = {.out = tmpfile()};
    json_open(&json, NULL, '{');
    json_open(&json, "a\"", '[');
    json_number(&json, NULL, 2.328170);
    json_number(&json, NULL, -1e-9);
    json_number(&json, NULL, NAN);
    json_number(&json, NULL, INFINITY);
    json_open(&json, NULL, '{');
    json_close(&json, '}');
    json_close(&json, ']');
    json_number(&json, "b", 1e9);
    json_close(&json, '}');
    const char *text = stream_text(json.out, &(size_t){0});
    assert_string_equal(text, "{\"a\\u0022\":[2.32817,-1e-09,null,null,{}],\n\"b\":1000000000}");
    assert_int_equal(*json_end(text), 0);
    assert_int_equal(strtod(json_member(text, "b"), NULL), 1000000000);
}
