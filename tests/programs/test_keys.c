/* test_keys.c - ./sample -i on a terminal: keys and Ctrl-C. */
#include "tests/command.h"

#include <poll.h>

SET_UP {
    must_run("train -q -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @model " ACT);
}

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

/* Opens a terminal as standard input and output of the next command. Returns its end. */
static int begin_dialogue(void) {
    terminal = open_terminal(&command_input);
    int out = open(command_input, O_WRONLY | O_NOCTTY);
    assert_true(out >= 0);
    return out;
}

static void end_dialogue(Process child, int out) {
    type("\004");
    assert_int_equal(end_of_process(child), 0);
    close(out);
    close(terminal);
    command_input = NULL;
}

/* An arrow key types an escape sequence, which never becomes text, not even of a model of bytes. */
TEST(arrow_keys) {
    must_run("train -q --bytes -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 2 -o @any " ACT);
    int out = begin_dialogue();
    Process child = start("sample -i -n 5 @any", out);
    wait_for_text("\r\n> ");
    type("\033[ATHE\033[D\n");
    wait_for_text("\r\n> ");
    end_dialogue(child, out);
    char *errors = slurp(scratch("stderr"), NULL);
    assert_non_null(strstr(errors, "rlwrap ./sample -i"));
}

/* An interruption ends the current continuation. Only the end of the input ends the program. */
TEST(interruption) {
    int out = begin_dialogue();
    Process child = start("sample -i -n 1000000000 @model", out);
    wait_for_text("\r\n> ");
    type("THE\n");
    wait_for_text("THE\r\nTHE"); /* the echo, then the text */
    send_signal(child, SIGINT);
    wait_for_text("> "); /* the text itself has no such character */
    send_signal(child, SIGINT);
    type("CLOCK\n");
    wait_for_text("CLOCK\r\nCLOCK");
    send_signal(child, SIGINT);
    wait_for_text("> ");
    end_dialogue(child, out);
}
