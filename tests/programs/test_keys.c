/* test_keys.c - ./sample -i on a terminal: keys, lines that are edited, and Ctrl-C. */
#define _XOPEN_SOURCE 700 /* terminals to test with */
#include "tests/command.h"

#include <poll.h>
#include <sys/ioctl.h>

static int set_up(void **state) {
    scratch_open(state);
    must_run("train -q -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @model " ACT);
    return 0;
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
static int open_terminal(void) {
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    command_input = ptsname(terminal);
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
    int out = open_terminal();
    Process child = start("sample -i -n 5 @any", out);
    wait_for_text("\r\n> ");
    type("\033[ATHE\033[D\n");
    wait_for_text("\r\n> ");
    end_dialogue(child, out);
    char *errors = slurp(scratch("stderr"), NULL);
    assert_non_null(strstr(errors, "rlwrap sample -i"));
}

/* rlwrap, if it is there, edits lines with arrow keys and repeats them from its history. */
TEST(rlwrap) {
    if (run_shell("command -v rlwrap >/dev/null 2>&1") != 0) skip();
    const char *program = formatted("%s/sample", programs_folder());
    int out = open_terminal();
    struct winsize window = {.ws_row = 24, .ws_col = 200};
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &window), 0);
    const char *name = command_input;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setsid();
        int in = open(name, O_RDWR); /* the terminal that controls the new session */
        if (dup2(in, 0) < 0 || dup2(in, 1) < 0 || dup2(in, 2) < 0) _exit(127);
        setenv("TERM", "xterm", 1);
        setenv("RLWRAP_HOME", scratch_directory, 1);
        alarm(LIMIT);
        execlp("rlwrap", "rlwrap", program, "-i", "-n", "5", scratch("model"), (char *)NULL);
        _exit(127);
    }
    wait_for_text("> ");
    type("THE CLICK\033[D\033[D\177O\r"); /* left, left, backspace */
    wait_for_text("\nTHE CLOCK");
    type("\033[A S\r"); /* up */
    wait_for_text("\nTHE CLOCK S");
    end_dialogue(child, out);
}

/* An interruption ends the current continuation. Only the end of the input ends the program. */
TEST(interruption) {
    int out = open_terminal();
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

FIXTURE(set_up, scratch_close)
