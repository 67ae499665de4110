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

/* ---- commands ---- */

/* Each setting does what its option does. */
TEST(settings) {
    static const char *const cases[][2] = {{"/temperature 0\nTHE\n", "-n 30 -t 0"},
                                           {"/length 50\nTHE\n", "-n 50"},
                                           {"/top-k 2\nTHE\n", "-n 30 -k 2"},
                                           {"/top-p 0.5\nTHE\n", "-n 30 -P 0.5"},
                                           {"/seed 7\n/top-k 3\nTHE\n", "-n 30 --seed 7 -k 3"}};
    for (int i = 0; i < COUNT(cases); i++) {
        converse("-n 30", cases[i][0]);
        assert_string_equal(ran.err, "");
        keep();
        must_run("sample %s -p THE @model", cases[i][1]);
        assert_string_equal(ran.out, kept);
    }
}

/* After /new the model knows nothing of the text before, and writes the next of --samples. */
TEST(fresh_start) {
    char *to;
    must_run("sample -n 30 --samples 3 -p THE @model");
    while ((to = strstr(ran.out, "----\n"))) memmove(to, to + 5, strlen(to + 5) + 1);
    keep();
    converse("-n 30", "THE\n/new\nTHE\n/new\nTHE\n");
    assert_string_equal(ran.out, kept);
}

/* A wrong command causes an error message, and changes nothing. */
TEST(wrong_commands) {
    static const char *const cases[][2] = {
        {"/temperature -1\n", "'-1'"},
        {"/temperature\n", "/temperature"},
        {"/length 0\n", "'0'"},
        {"/length 5 6\n", "/length"},
        {"/new text\n", "/new"},
        {"/temp 1\n", "/temp"},
        {"/\n", "/help"},
    };
    must_run("sample -n 30 -p THE @model");
    for (int i = 0; i < COUNT(cases); i++) {
        const char *expected = ran.out;
        converse("-n 30", formatted("%sTHE\n", cases[i][0]));
        assert_string_equal(ran.out, expected);
        expect_line_of(ran.err, cases[i][0], TEXTS(cases[i][1]));
    }
}

/* Two slashes are one in the text, which this model does not know. */
TEST(slash) {
    converse("-n 30", "//new\n");
    assert_string_equal(ran.out, "");
    assert_non_null(strstr(ran.err, "'/'"));
    must_run("train -q --bytes -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 2 -o @bytes " ACT);
    command_input = scratch_put("typed", "//new\n", 6);
    run("sample -i -n 30 @bytes");
    command_input = NULL;
    assert_memory_equal(ran.out, "/new", 4);
}

FIXTURE(set_up, scratch_close)
