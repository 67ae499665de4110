/* test_terminal.c - what the programs write to a terminal, to a pipe and to a shell: text from
 * files and persons is shown, and never obeyed. */
#define _XOPEN_SOURCE 700 /* terminals to test with */
#include "tests/support.h"
#include "tests/command.h"
#include "base/escape.h"

#define PLAY "data/sample.txt"
#define TINY "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 "

/* Fails the test unless a terminal would only print the text. */
static void expect_shown(const char *text) {
    for (size_t left = strlen(text), taken; left > 0; text += taken, left -= taken) {
        char shown[ESCAPE_ROOM];
        taken = escape_first(text, left, shown);
        if (*text != '\n' && *text != '\t' && strncmp(text, shown, taken) != 0)
            fail_msg("%s: as it is in: %.40s", shown, text);
    }
}

/* What stands behind the words in the last command's output. */
static const char *after(const char *words) {
    const char *found = strstr(ran.out, words);
    if (!found) fail_msg("%s: no '%s' in: %s", ran.command, words, ran.out);
    return found + strlen(words);
}

/* ---- names and notes ---- */

/* A checkpoint may come from anywhere. */
static void test_info(void **state) {
    (void)state;
    static const char characters[] = "\t\nab\xC2\x80\xC2\x9B\u202E\u2069好";
    static const char loss[] = "1\033[2J\nmodel            gpt";
    static const Note notes[] = {
        {"characters", "utf-8", 5},
        {"vocabulary", characters, sizeof characters - 1},
        {"best_loss", loss, sizeof loss - 1},
    };
    Model model;
    Error err;
    Config config = {.model = "bigram", .V = 9, .T = 8, .L = 1, .NH = 1, .C = 1};
    assert_ok(model_build(&model, &config, 1, &err), err);
    assert_ok(checkpoint_save(scratch("forged"), &model, notes, 3, &err), err);
    model_free(&model);
    must_run("sample --info @forged");
    expect_shown(ran.out);
    after("\nbest_loss        1\\x1b[2J\\x0amodel            gpt\n");
    after("\n\\x09\\x0aab\\x80\\x9b\\u202e\\u2069好\n");
    must_run("sample --explain ab\xC2\x9B\u202E @forged");
    expect_shown(ran.out);
    run("sample -n 5 -p \033[2J\xC2\x9B @forged");
    assert_int_equal(ran.status, 1);
    expect_shown(ran.err);
    run("sample -n 5 @none\033[2J\xC2\x9B\x9B\u202E");
    assert_int_equal(ran.status, 1);
    expect_shown(ran.err);
    assert_non_null(strstr(ran.err, "none\\x1b[2J\\x9b\\x9b\\u202e: "));
}

static void interrupt_once(pid_t child, int i) {
    if (i == 0) assert_int_equal(kill(child, SIGINT), 0);
}

/* Fails the test unless a shell reads the rest of a line as these words. */
static void expect_words_of(const char *line, const char *const words[], int count) {
    char command[4096], expected[4096] = "", found[4096];
    snprintf(command, sizeof command, "printf '<%%s>' %.*s", (int)strcspn(line, "\n"), line);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "<%s>", words[i]);
    }
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    found[fread(found, 1, sizeof found - 1, shell)] = 0;
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(found, expected);
}

/* What train says to do next can be pasted, whatever the names are. */
static void test_names(void **state) {
    (void)state;
    size_t length;
    char *play = slurp(PLAY, &length), text[SCRATCH_PATH], out[SCRATCH_PATH], page[SCRATCH_PATH];
    snprintf(text, sizeof text, "%s", scratch_put("my text\033[31m\xC2\x9B\n.txt", play, length));
    free(play);
    snprintf(out, sizeof out, "%s", scratch("two words/it's"));
    snprintf(page, sizeof page, "%s", scratch("two words/report.html"));
    const char *const read[] = {"sample", "-n", "500", out}, *const see[] = {page},
                      *const on[] = {"train", "--resume", "--out", out, text};
    must_run("train -j 1 " TINY "--ladder -o @two~words/it's @my~text\033[31m\xC2\x9B\n.txt");
    expect_shown(ran.out);
    assert_int_equal(strncmp(after("my text\\x1b[31m\\x9b\\x0a.txt"), ": ", 2), 0);
    expect_words_of(after("\nTo read what it writes:"), read, 4);
    expect_words_of(after("\nTo see what it learnt:"), see, 1);
    run_meanwhile("train -j 1 -m bigram -s 1000000000 --eval-every 1000000 -o @two~words/it's "
                  "@my~text\033[31m\xC2\x9B\n.txt",
                  interrupt_once);
    expect_success();
    expect_shown(ran.out);
    expect_words_of(after("\nInterrupted.  To go on:"), on, 5);
    must_run("train -r -j 1 " TINY "-o @two~words/never\033 " PLAY);
    after("/two words/never\\x1b.last.safetensors: not there yet");
    expect_shown(ran.out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_names),
    };
    int failed = cmocka_run_group_tests(tests, scratch_open, scratch_close);
    command_close();
    return failed;
}
