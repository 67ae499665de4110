/* calls.c - calls the page's interface natively, so that the sanitizers see it: extras/web/web.c
 * with the files in memory, in the order in which a page calls it and in wrong ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "extras/web/web.h"

#include <stdbool.h>
#include <string.h>

enum { TEXT, CHECKPOINT, LINE, BIGRAM = 0, GPT = 4, MODERN = 5, RUNGS = 6 };

static void give(int kind, const char *bytes, size_t length) {
    char *room = web_room(kind, length);
    assert_non_null(room);
    memcpy(room, bytes, length);
}

static void give_line(const char *line) {
    give(LINE, line, strlen(line));
}

static void take_text(int times) {
    static const char line[] = "the cat sat on the mat, and the hat.\n";
    char text[sizeof line * 40] = "";
    for (int i = 0; i < times; i++) strcat(text, line);
    give(TEXT, text, strlen(text));
    assert_int_equal(web_take_text(0), 1);
    web_set_sizes(2, 2, 16, 8, 4, 20, 1337);
}

static int add_all(void **state) {
    (void)state;
    take_text(40);
    for (int i = 0; i < RUNGS; i++) assert_int_equal(web_add(i), 1);
    while (web_advance(1, 0)) continue;
    return 0;
}

static int drop_all(void **state) {
    (void)state;
    web_close();
    return 0;
}

static bool says(const char *words) {
    char text[1024] = "";
    size_t length = web_answer_length() < sizeof text - 1 ? web_answer_length() : sizeof text - 1;
    memcpy(text, web_answer(), length);
    return strstr(text, words);
}

static void test_training(void **state) {
    (void)state;
    assert_int_equal(web_rungs(), 1);
    assert_true(says("\"done\":true"));
    assert_int_equal(web_draw_losses(300, 1), 1);
    web_set_steps(GPT, 25);
    assert_int_equal(web_advance(1e6, 1), 0);
    assert_int_equal(web_estimate(MODERN), 1);
    assert_int_equal(web_ladder(), 1);
    web_drop(GPT);
    web_drop(GPT);
    assert_int_equal(web_advance(1, 0), 0);
}

static void test_looking(void **state) {
    (void)state;
    for (int rung = 0; rung < RUNGS; rung++) {
        give_line("the cat sat on the mat");
        assert_int_equal(web_read_line(rung), 1);
        web_set_sampler(0.5, 2, 0.9, 1);
        assert_int_equal(web_next(), 1);
        assert_int_equal(web_heads(), 1);
        assert_int_equal(web_draw_map(0, 0), rung > BIGRAM);
        assert_int_equal(rung > BIGRAM ? web_explain(0, 0) : web_explain(-1, -1), 1);
        assert_int_equal(web_explain(9, 9), 0);
        assert_int_equal(web_prompt(rung), 1);
        assert_int_equal(web_write_on(50, 1e6), 1);
        assert_int_equal(web_score(rung), 1);
    }
    give_line("");
    assert_int_equal(web_read_line(GPT), 1);
    give_line("xyz");
    assert_int_equal(web_read_line(GPT), 0);
    assert_true(says("not in the model's vocabulary"));
    assert_int_equal(web_prompt(GPT), 0);
    web_drop(GPT);
    give_line("the");
    assert_int_equal(web_read_line(GPT), 0);
    assert_int_equal(web_next(), 0);
    assert_int_equal(web_write_on(1, 1), 0);
    assert_int_equal(web_save(GPT), 0);
    assert_int_equal(web_score(GPT), 0);
}

static void test_checkpoints(void **state) {
    (void)state;
    char saved[1 << 18];
    assert_int_equal(web_save(GPT), 1);
    size_t length = web_answer_length();
    assert_true(length > 0 && length < sizeof saved);
    memcpy(saved, web_answer(), length);
    for (size_t cut = 0; cut < length; cut += 997) {
        give(CHECKPOINT, saved, cut);
        assert_int_equal(web_load(), 0);
    }
    give(CHECKPOINT, saved, length);
    assert_int_equal(web_load(), 1);
    assert_true(says("\"step\":20"));
    static const char other[] = "ein anderer Text, mit Umlauten: öäü.\n";
    char text[sizeof other * 8] = "";
    for (int i = 0; i < 8; i++) strcat(text, other);
    give(TEXT, text, strlen(text));
    assert_int_equal(web_take_text(0), 1);
    give(CHECKPOINT, saved, length);
    assert_int_equal(web_load(), 1);
    assert_true(says("\"step\":0"));
    web_close();
    give(CHECKPOINT, saved, length);
    assert_int_equal(web_load(), 1);
    assert_true(says("there is no text to train on"));
    assert_int_equal(web_advance(1, 0), 0);
    give_line("the cat");
    assert_int_equal(web_read_line(GPT), 1);
}

static void test_texts(void **state) {
    (void)state;
    give(TEXT, "", 0);
    assert_int_equal(web_take_text(0), 0);
    give(TEXT, "\xff\xfe", 2);
    assert_int_equal(web_take_text(0), 0);
    assert_null(web_room(TEXT, (size_t)1 << 30));
    assert_int_equal(web_rungs(), 1);
    assert_true(says("\"step\":20"));
    take_text(1);
    web_set_sizes(2, 3, 16, 8, 4, 20, 1337);
    assert_int_equal(web_add(GPT), 0);
    web_set_sizes(2, 2, 16, 64, 4, 20, 1337);
    assert_int_equal(web_add(GPT), 0);
    assert_true(says("too short"));
    assert_int_equal(web_add(99), 0);
    assert_int_equal(web_estimate(-1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_training, add_all, drop_all),
        cmocka_unit_test_setup_teardown(test_looking, add_all, drop_all),
        cmocka_unit_test_setup_teardown(test_checkpoints, add_all, drop_all),
        cmocka_unit_test_setup_teardown(test_texts, add_all, drop_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
