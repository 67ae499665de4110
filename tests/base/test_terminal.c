/* test_terminal.c - output to a terminal, a pipe and a shell: text from files and users is
 * displayed, and never interpreted; and ./sample -i there, with keys and Ctrl-C. */
#include "library/checkpoint.h"
#include "tests/command.h"
#include "base/escape.h"
#include "base/memory.h"

#include <poll.h>

#define TINY "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 "

/* Fails the test unless a terminal would only display the text. */
static void expect_shown(const char *text) {
    for (size_t left = strlen(text), taken; left > 0; text += taken, left -= taken) {
        char shown[ESCAPE_SIZE];
        taken = escape_first(text, left, shown);
        if (*text != '\n' && *text != '\t' && strncmp(text, shown, taken) != 0)
            fail_msg("%s: as it is in: %.40s", shown, text);
    }
}

/* ---- names and notes ---- */

/* A checkpoint may come from anywhere. */
static void forge(void) {
    static const char characters[] = "\t\nab\xC2\x80\xC2\x9B\u202E\u2069好";
    static const char loss[] = "1\033[2J\nmodel            gpt";
    static const Metadata notes[] = {
        {"characters", "utf-8", 5},
        {"vocabulary", characters, sizeof characters - 1},
        {"best_loss", loss, sizeof loss - 1},
    };
    Model model;
    Config config = {.model = "bigram", .V = 9, .T = 8, .L = 1, .NH = 1, .C = 1};
    assert_ok(model_build(&model, &config, 1, &err), err);
    assert_ok(checkpoint_save(scratch("forged"), &model, NULL, notes, 3, &err), err);
    model_free(&model);
}

TEST(info) {
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

/* Fails the test unless a shell reads the rest of a line as these words. */
static void expect_words_of(const char *line, const char *const words[], int count) {
    char found[4096];
    const char *expected = "";
    for (int i = 0; i < count; i++) expected = formatted("%s<%s>", expected, words[i]);
    int length = (int)strcspn(line, "\n");
    FILE *shell = popen(formatted("printf '<%%s>' %.*s", length, line), "r");
    assert_non_null(shell);
    found[fread(found, 1, sizeof found - 1, shell)] = 0;
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(found, expected);
}

/* The commands that train suggests can be pasted, with any file names that a terminal may show. */
TEST(names) {
    size_t length;
    const char *play = slurp(ACT, &length), *out = copy_text(scratch("two words/it's"));
    const char *page = copy_text(scratch("two words/it's/report.html"));
    const char *text = copy_text(scratch("my text\\x1b[31m\\x9b\\x0a.txt")); /* as it is shown */
    const char *const read[] = {"sample", "-n", "500", out}, *const see[] = {page},
                      *const on[] = {"clocked/train", "--resume", "--out", out, text};
    scratch_put("my text\033[31m\xC2\x9B\n.txt", play, length);
    must_run("train -j 1 " TINY "--ladder -o @two~words/it's @my~text\033[31m\xC2\x9B\n.txt");
    expect_shown(ran.out);
    assert_int_equal(strncmp(after("my text\\x1b[31m\\x9b\\x0a.txt"), ": ", 2), 0);
    expect_words_of(strchr(expect_line("sample -n 500 "), ':') + 1, read, 4);
    expect_words_of(strchr(expect_line("/report.html"), ':') + 1, see, 1);
    must_run_clocked(0.01, " 2@3",
                     "train -j 1 -m bigram -s 1000000000 --eval-every 1000000 -o @two~words/it's "
                     "@my~text\033[31m\xC2\x9B\n.txt");
    expect_shown(ran.out);
    expect_words_of(strchr(has_line("train --resume --out "), ':') + 1, on, 5);
    must_fail(1, "train -r -j 1 " TINY "-o @two~words/never\033 " ACT,
              "/two words/never\\x1b/state.safetensors: ");
}

/* ---- threads ---- */

/* More threads than processors: uses one per processor, and writes the same text. */
TEST(many_threads) {
    must_run("sample -j %d -n 200 @bytes", run_max_threads());
    keep();
    double before = largest_memory(); /* each thread has its own memory */
    run("sample -j 1024 -n 200 @bytes");
    assert_true(largest_memory() <= 1.5 * before);
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.out, kept);
    must_run("train -j 1024 -q " TINY "-o @many " ACT);
    assert_true(largest_memory() <= 2 * before);
    must_run("sample -j 1 -n 200 @many");
    keep();
    must_run("train -j 1 " TINY "-o @few " ACT);
    must_run("sample -j 1 -n 200 @few");
    assert_string_equal(ran.out, kept);
}

/* ---- on a narrow screen ---- */

/* Runs a command on a terminal, and takes the text on the terminal as its output. */
static void run_on_terminal(const char *command) {
    const char *name;
    int terminal = open_terminal(&name), out = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    int file = create_file(scratch("stdout"));
    assert_true(out >= 0);
    Process child = start(command, out);
    close(out);
    char text[512];
    for (ssize_t more; (more = read(terminal, text, sizeof text)) > 0;)
        assert_int_equal(write(file, text, (size_t)more), more);
    close(file);
    close(terminal);
    finish(child);
    expect_success();
}

/* Runs a command on a terminal of unknown size, whose width COLUMNS gives. */
static void run_on_columns(int columns, const char *command) {
    assert_int_equal(setenv("COLUMNS", formatted("%d", columns), 1), 0);
    run_on_terminal(command);
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

/* Neither progress nor table wraps, and the most important parts stay: how far, and the loss. */
TEST(narrow_progress) {
    static const int widths[] = {20, 25, 30, 40, 47, 59, 79, 200};
    for (int i = 0; i < 8; i++) {
        int lines = 0;
        run_on_columns(widths[i], "train -j 1 -m bigram -b 4 -c 16 -s 1000 -o @narrow " ACT);
        for (const char *at = ran.out; (at = strstr(at, "\r  ")); at++) {
            const char *end = strstr(at, "\033[K");
            assert_non_null(end);
            if (memchr(at, '\n', (size_t)(end - at))) fail_msg("no progress: %.80s", at);
            assert_in_range(end - at - 1, 8, widths[i] - 1);
            /* percent and loss; step, steps, loss; with the time left; with the speed */
            int parts = widths[i] < 30 ? 2 : widths[i] < 47 ? 3 : widths[i] <= 79 ? 4 : 5;
            double numbers[6];
            const char *plain = formatted("%.*s", (int)(end - at - 1), at + 1);
            int count = numbers_of(plain, numbers, 6);
            if (count == 0) continue; /* the current activity */
            if (count < parts) fail_msg("%d columns: %s", widths[i], plain);
            if (widths[i] == 200) expect_line_of(plain, ran.command, TEXTS(""));
            lines++;
        }
        assert_true(lines > 0);
        assert_true(widths[i] < 40 || (int)strcspn(after("\nmodel"), "\r") + 5 <= widths[i]);
    }
}

/* A terminal shows the current activity, and a pipe does not. */
TEST(activity) {
    enum { ACTIVITIES = 5 }; /* counts, evaluates, saves, measures the best model, the machine */
    char seen[ACTIVITIES][64] = {""};
    int count = 0;
    run_on_columns(80, "train -j 1 -m bigram -b 4 -c 16 -t 3 -o @busy " ACT);
    for (char *end = ran.out; (end = strstr(end, " ...\033[K")); end++) {
        char *begin = end;
        int i = 0;
        while (*begin != '\r') begin--;
        assert_int_equal(end[strlen(" ...\033[K")], '\r'); /* something else takes its place */
        *end = 0;
        while (i < count && strcmp(seen[i], begin) != 0) i++;
        if (i < count) continue;
        assert_true(count < ACTIVITIES);
        snprintf(seen[count++], sizeof *seen, "%s", begin);
        expect_line_of(begin + 1, ran.command, TEXTS(""));
    }
    assert_int_equal(count, ACTIVITIES);
    must_run("train -j 1 -m bigram -b 4 -c 16 -t 3 -o @busy " ACT);
    assert_null(strstr(ran.out, " ..."));
    run_on_columns(80, "train -q -j 1 -m bigram -b 4 -c 16 -t 3 -o @busy " ACT);
    assert_null(strstr(ran.out, " ..."));
}

/* ---- generated text ---- */

enum { CAPACITY = 1 << 16 };

/* The library's own text from a checkpoint of bytes or characters. */
typedef struct {
    TrilWriter *writer;
    char text[CAPACITY];
    size_t length;
} Author;

static Author *author_open(const char *name) {
    TrilSampling sampling = tril_sampling();
    Author *a = scrap(1, sizeof *a);
    sampling.temperature = 100;
    a->writer = write_with(load_model(scratch(name)), &sampling);
    return a;
}

static void author_put(Author *a, const char *text, size_t length) {
    assert_true(a->length + length < CAPACITY);
    memcpy(a->text + a->length, text, length);
    a->length += length;
}

static void author_say(Author *a, const char *text, size_t length) {
    author_put(a, text, length);
    must(tril_writer_append(a->writer, text, length, &error));
}

static void author_write(Author *a, int count) {
    char text[4] = "";
    for (int i = 0; i < count; i++) author_put(a, text, (size_t)tril_writer_write(a->writer, text));
}

static void leave_alone(Process child, int i) {
    (void)child, (void)i;
}

/* The last output is the author's text, to the byte. */
static void expect_text(const Author *a) {
    expect_success();
    assert_int_equal(ran.length, a->length);
    assert_memory_equal(ran.out, a->text, a->length);
}

/* A pipe gets the bytes of a prompt, and all that follow. */
TEST(bytes_of_prompt) {
    Author *a = author_open("bytes");
    author_say(a, "\xFF\x90 A\xC2", 5);
    author_write(a, 10);
    run_meanwhile("sample -n 10 -t 100 -p \xFF\x90~A\xC2 @bytes", leave_alone);
    expect_text(a);
}

/* Turns form one text. Typed lines may contain any bytes. */
TEST(bytes_in_turns) {
    static const char typed[] = "a\xFF\0z\n\n\x80\xC2\n";
    Author *a = author_open("bytes");
    author_say(a, "a\xFF\0z", 4);
    author_write(a, 7);
    author_write(a, 7);
    if (a->text[a->length - 1] != '\n') author_say(a, "\n", 1); /* a turn begins a line */
    author_say(a, "\x80\xC2", 2);
    author_write(a, 7);
    command_input = scratch_put("typed", typed, sizeof typed - 1);
    run_meanwhile("sample -i -n 7 -t 100 @bytes", leave_alone);
    command_input = NULL;
    expect_text(a);
}

/* A line that cannot be read is as if it had not been typed. The end of the input also ends a
 * line. */
TEST(unknown_turns) {
    static const char *const typed[][2] = {{"好\nTHE", "'好'"}, {"\xFF\nTHE\n", "0xFF"}};
    must_run("sample -n 300 --stop e -p THE @letters");
    keep();
    for (int i = 0; i < 2; i++) {
        command_input = scratch_put("typed", typed[i][0], strlen(typed[i][0]));
        run("sample -i -n 300 --stop e @letters");
        assert_string_equal(ran.out, kept);
        assert_non_null(strstr(ran.err, typed[i][1]));
    }
    command_input = NULL; /* nothing is typed */
    must_run("sample -i -n 300 --stop e @letters");
    assert_string_equal(ran.out, "");
    must_run("sample -i -n 300 --stop e -p THE @letters");
    assert_string_equal(ran.out, kept);
}

/* On a terminal: whole characters, no control characters, and a newline at the end. */
static void expect_on_terminal(const Author *a) {
    char *shown;
    size_t length;
    FILE *out = open_memstream(&shown, &length);
    assert_non_null(out);
    for (size_t i = 0; i < a->length;) {
        uint32_t code;
        const int taken = utf8_decode(a->text + i, a->length - i, &code);
        if (taken == UTF8_CUT) break;
        if (taken > 0) escape_print(out, a->text + i, (size_t)taken, "\n\t");
        if (taken <= 0) fputs("\uFFFD", out);
        i += taken > 0 ? (size_t)taken : 1;
    }
    if (a->text[a->length - 1] != '\n') putc('\n', out);
    assert_int_equal(fclose(out), 0);
    assert_true(length > a->length); /* or the test would check nothing */
    char *to = ran.out;
    for (const char *from = ran.out; *from; from++)
        if (*from != '\r') *to++ = *from; /* the terminal adds it before each newline */
    *to = 0;
    assert_string_equal(ran.out, shown);
    free(shown);
}

/* A terminal shows characters that it could not print, and a pipe gets all bytes and characters
 * unchanged. At the end of characters is a newline. */
TEST(terminal_and_pipe) {
    static const char *const models[] = {"bytes", "forged"}, *const shown[][2] = {
                                                                 {"\uFFFD", "\\x1b"},
                                                                 {"\\x9b", "\\u202e"}};
    for (int i = 0; i < 2; i++) {
        Author *a = author_open(models[i]);
        author_write(a, 1000);
        run_on_terminal(formatted("sample -n 1000 -t 100 @%s", models[i]));
        expect_on_terminal(a);
        for (int j = 0; j < 2; j++) assert_non_null(strstr(ran.out, shown[i][j]));
        if (i == 1 && a->text[a->length - 1] != '\n') author_put(a, "\n", 1);
        run_meanwhile(formatted("sample -n 1000 -t 100 @%s", models[i]), leave_alone);
        expect_text(a);
    }
}

/* ---- ./sample -i on a terminal ---- */

static int dialogue; /* the test's end of its terminal */

/* Reads the program's output until it contains `text`. */
static void wait_for_text(const char *text) {
    char seen[4096] = "";
    size_t length = 0;
    while (!strstr(seen, text)) {
        struct pollfd ready = {.fd = dialogue, .events = POLLIN};
        if (poll(&ready, 1, 1000 * LIMIT) != 1) fail_msg("no '%s' in '%s'", text, seen);
        if (length > sizeof seen / 2) { /* the output is endless: keep the last part */
            memmove(seen, seen + length - 64, 65);
            length = 64;
        }
        ssize_t more = read(dialogue, seen + length, sizeof seen - length - 1);
        assert_true(more > 0);
        length += (size_t)more;
        seen[length] = 0;
    }
}

static void type(const char *text) {
    assert_int_equal(write(dialogue, text, strlen(text)), strlen(text));
}

/* Opens a terminal as standard input and output of the next command. Returns its end. */
static int begin_dialogue(void) {
    dialogue = open_terminal(&command_input);
    int out = open(command_input, O_WRONLY | O_NOCTTY);
    assert_true(out >= 0);
    return out;
}

static void end_dialogue(Process child, int out) {
    type("\004");
    assert_int_equal(end_of_process(child), 0);
    close(out);
    close(dialogue);
    command_input = NULL;
}

/* An arrow key types an escape sequence, which never becomes text, not even of a model of bytes. */
TEST(arrow_keys) {
    int out = begin_dialogue();
    Process child = start("sample -i -n 5 @bytes", out);
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
    Process child = start("sample -i -n 1000000000 @letters", out);
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

SET_UP {
    must_run("train -q -j 1 --bytes -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @bytes " ACT);
    must_run("train -q -j 1 " TINY "-o @letters " ACT);
    forge();
}
