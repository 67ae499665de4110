/* test_dialogue.c - ./sample -i: a person and a model take turns writing. */
#define _XOPEN_SOURCE 700 /* terminals to test with */
#include "tests/support.h"
#include "tests/command.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAY "data/sample.txt"

static int set_up(void **state) {
    scratch_open(state);
    must_run("train -q -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @model " PLAY);
    return 0;
}

/* Runs `sample -i` with these lines as input. */
static void converse(const char *options, const char *typed) {
    command_input = scratch_put("typed", typed, strlen(typed));
    run("sample -i %s @model", options);
    command_input = "/dev/null";
    assert_int_equal(ran.status, 0);
}

/* A beginning gives the same text as --prompt. An empty line continues as if the text had not
 * stopped. */
static void test_turns(void **state) {
    (void)state;
    char whole[512], parts[512];
    must_run("sample -n 30 -p THE~CLOCK @model");
    keep();
    converse("-n 30", "THE CLOCK\n");
    assert_string_equal(ran.out, kept);
    converse("-n 30", "THE CLOCK"); /* the end of the input also ends a line */
    assert_string_equal(ran.out, kept);
    must_run("sample -n 40 -p THE~CLOCK @model");
    snprintf(whole, sizeof whole, "%s", ran.out);
    converse("-n 10", "THE CLOCK\n\n\n\n");
    /* each turn ends with a newline if the text has none */
    const char *at = ran.out;
    size_t length = 0;
    for (size_t turn = 0, characters = strlen("THE CLOCK") + 10; turn < 4;
         turn++, characters = 10) {
        memcpy(parts + length, at, characters);
        length += characters;
        at += characters;
        if (parts[length - 1] != '\n') assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, 0);
    assert_memory_equal(parts, whole, length);
}

/* A later input line begins a new line of the same text. */
static void test_new_line(void **state) {
    (void)state;
    enum { FIRST = 3 + 12 }; /* characters of the first turn */
    char prompt[64];
    converse("-n 12 -t 0", "THE\nCLOCK\n");
    keep();
    bool ended = kept[FIRST - 1] == '\n';
    snprintf(prompt, sizeof prompt, "%.*s%sCLOCK", FIRST, kept, ended ? "" : "\n");
    for (char *c = prompt; *c; c++)
        if (*c == ' ') *c = '~'; /* for a word of the command */
    must_run("sample -n 12 -t 0 -p %s @model", prompt);
    assert_string_equal(ran.out, kept);
}

static void test_unknown(void **state) {
    (void)state;
    must_run("sample -n 30 -p THE @model");
    keep();
    converse("-n 30", "好\nTHE\n");
    assert_string_equal(ran.out, kept); /* as if it had not been typed */
    assert_non_null(strstr(ran.err, "sample: that line: character 1, '好'"));
    converse("-n 30", "\xFF\nTHE\n");
    assert_string_equal(ran.out, kept);
    assert_non_null(strstr(ran.err, "not valid UTF-8"));
}

static void test_none(void **state) {
    (void)state;
    converse("-n 30", "");
    assert_string_equal(ran.out, "");
    converse("-n 30 -p THE", "");
    must_run("sample -n 30 -p THE @model");
    assert_int_equal(strlen(ran.out), 33 + (ran.out[32] != '\n'));
}

/* ---- on a terminal ---- */

static int terminal;

/* Reads the program's output until it contains `text`. */
static void wait_for_text(const char *text) {
    char seen[4096] = "";
    size_t length = 0;
    while (!strstr(seen, text)) {
        struct pollfd ready = {.fd = terminal, .events = POLLIN};
        if (poll(&ready, 1, 1000 * LIMIT) != 1) fail_msg("no '%s' in '%s'", text, seen);
        if (length > sizeof seen / 2) { /* the output is endless: keep the last part */
            memmove(seen, seen + length - 64, 65);
            length = 64;
        }
        ssize_t more = read(terminal, seen + length, sizeof seen - length - 1);
        assert_true(more > 0);
        length += (size_t)more;
        seen[length] = 0;
    }
}

static void type(const char *text) {
    assert_int_equal(write(terminal, text, strlen(text)), strlen(text));
}

/* An interruption ends the current continuation or input line. Only the end of the input ends the
 * program. */
static void test_interruption(void **state) {
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    command_input = ptsname(terminal);
    int out = open(command_input, O_WRONLY | O_NOCTTY);
    assert_true(out >= 0);
    pid_t child = start("sample -i -n 1000000000 @model", out);
    wait_for_text("Ctrl-D ends.\r\n> ");
    type("THE\n");
    wait_for_text("THE\r\nTHE"); /* the echo, then the text */
    kill(child, SIGINT);
    wait_for_text("> "); /* the text itself has no such character */
    kill(child, SIGINT);
    wait_for_text("\r\n> ");
    type("CLOCK\n");
    wait_for_text("CLOCK\r\nCLOCK");
    kill(child, SIGINT);
    wait_for_text("> ");
    type("\004");
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(out);
    close(terminal);
    command_input = "/dev/null";
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),        cmocka_unit_test(test_new_line),
        cmocka_unit_test(test_unknown),      cmocka_unit_test(test_none),
        cmocka_unit_test(test_interruption),
    };
    return cmocka_run_group_tests(tests, set_up, command_close);
}
