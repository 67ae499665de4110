/* test_dialogue.c - ./sample -i: a user and a model take turns writing. tests/programs/test_keys.c
 * has the same on a terminal. */
#include "tests/command.h"

static int set_up(void **state) {
    scratch_open(state);
    must_run("train -q -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @model " ACT);
    return 0;
}

/* Runs `sample -i` with these lines as input. */
static void converse(const char *options, const char *typed) {
    command_input = scratch_put("typed", typed, strlen(typed));
    run("sample -i %s @model", options);
    command_input = NULL;
    assert_int_equal(ran.status, 0);
}

/* A beginning gives the text of --prompt. An empty line continues as if the text had not ended. */
TEST(turns) {
    char parts[512];
    must_run("sample -n 30 -p THE~CLOCK @model");
    keep();
    converse("-n 30", "THE CLOCK\n");
    assert_string_equal(ran.out, kept);
    converse("-n 30", "THE CLOCK"); /* the end of the input also ends a line */
    assert_string_equal(ran.out, kept);
    must_run("sample -n 300 --stop e -p THE~CLOCK @model");
    keep();
    converse("-n 300 --stop e", "THE CLOCK\n");
    assert_string_equal(ran.out, kept);
    must_run("sample -n 40 -p THE~CLOCK @model");
    const char *whole = ran.out;
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

/* A later input line begins a new line of the same text. All of it fits the context: beyond that,
 * what is kept depends on when it was read. */
TEST(new_line) {
    enum { FIRST = 3 + 4 }; /* characters of the first turn */
    converse("-n 4 -t 0", "THE\nAN\n");
    keep();
    bool ended = kept[FIRST - 1] == '\n';
    char *prompt = formatted("%.*s%sAN", FIRST, kept, ended ? "" : "\n");
    for (char *c = prompt; *c; c++)
        if (*c == ' ') *c = '~'; /* for a word of the command */
    must_run("sample -n 4 -t 0 -p %s @model", prompt);
    assert_string_equal(ran.out, kept);
}

TEST(unknown) {
    must_run("sample -n 30 -p THE @model");
    keep();
    converse("-n 30", "好\nTHE\n");
    assert_string_equal(ran.out, kept); /* as if it had not been typed */
    assert_non_null(strstr(ran.err, "'好'"));
    converse("-n 30", "\xFF\nTHE\n");
    assert_string_equal(ran.out, kept);
    assert_non_null(strstr(ran.err, "0xFF"));
}

TEST(none) {
    converse("-n 30", "");
    assert_string_equal(ran.out, "");
    converse("-n 30 -p THE", "");
    must_run("sample -n 30 -p THE @model");
    assert_int_equal(strlen(ran.out), 33 + (ran.out[32] != '\n'));
}

FIXTURE(set_up, scratch_close)
