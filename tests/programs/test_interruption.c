/* test_interruption.c - Ctrl-C, SIGTERM and closed terminals: whichever comes, and however often,
 * the training is saved. Signals come at times of a simulated clock (tests/clocked.c), so every run
 * is the same. */
#include "tests/state.h"
#include "tests/table.h"

#include <ctype.h>
#include <time.h>

#define SIZES "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 --patience 1 -e 0 "
#define LONG  SIZES "-s 100000 --eval-every 100000 "
#define PAIRS "-m bigram -c 16 -b 4 -j 1 --patience 1 -s 100000 --eval-every 100000 "

static const double tick = 0.01;

/* Returns the number of lines before the table that begin with a capital: those about signals. */
static int count_notices(void) {
    const char *end = strstr(ran.out, "\nmodel  ");
    int count = 0;
    for (const char *line = ran.out; (line = strchr(line, '\n')) && (!end || line < end);) {
        if (!isupper((unsigned char)*++line)) continue;
        expect_line_of(line, ran.command, TEXTS(""));
        count++;
    }
    return count;
}

/* Checks the files, and the hint for resuming, after an interruption of the model's training. */
static void expect_all(const char *folder) {
    static const char *const names[] = {"model.safetensors",  "state.safetensors", "model.csv",
                                        "bigram.safetensors", "bigram.csv",        "report.html"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!scratch_has(formatted("%s/%s", folder, names[i]))) fail_msg("no %s", names[i]);
    assert_false(scratch_has_temporary(folder));
    expect_line("sample -n 500 ");
    expect_line("train --resume --out ");
    assert_true(state_number(formatted("%s/state.safetensors", folder), "step") > 0);
    must_run("sample -n 5 @%s/model.safetensors", folder);
}

/* Each signal is announced at once. The first evaluates the model; the second skips the evaluation:
 * the table has no figures that were not measured, but model, state, page and hint are there. A
 * closing terminal sends some programs two hang-ups, and a shell one more. */
TEST(signals) {
    static const struct {
        const char *signals;
        int notices;
    } cases[] = {{" 2@60", 1},
                 {" 15@60", 1},
                 {" 1@60", 1},
                 {" 2@60 2@60", 2},
                 {" 2@60 15@60", 2},
                 {" 15@60 2@60", 2},
                 {" 2@60 1@60 2@60", 2},
                 {" 1@60 1@60 1@60 1@60 1@60", 1},
                 {" 15@60 1@60 1@60", 1},
                 {" 1@60 15@60 1@60 1@60", 2},
                 {" 13@60 1@60 1@60", 0}};
    for (int i = 0; i < COUNT(cases); i++) {
        /* the baseline takes fifty seconds, and the model is in training at sixty */
        must_run_clocked(tick, cases[i].signals, "train " SIZES "-t 1000 -o @signal " ACT);
        int notices = count_notices();
        if (notices != cases[i].notices) fail_msg("%s: %d notices", cases[i].signals, notices);
        if (notices == 1)
            row_of("gpt");
        else if (notices == 2)
            assert_non_null(strstr(after("\ngpt  "), "       -           -          -"));
        expect_all("signal");
        scratch_remove(scratch("signal"));
    }
    must_run_clocked(tick, " 2@3", "train " PAIRS "-q -o @quiet " ACT);
    assert_int_equal(count_notices(), 0);
}

/* A baseline interrupted before its first evaluation leaves a model. The next one is not begun. */
TEST(baseline) {
    must_run_clocked(tick, " 2@3", "train " LONG "-o @base " ACT);
    const double loss = state_number("base/bigram.safetensors", "validation_loss");
    assert_near(row_of("bigram").validation, loss, 5e-5);
    assert_null(strstr(ran.out, "\ngpt "));
    expect_line("sample -n 500 ", "base/bigram.safetensors");
    expect_line("train --resume --out ");
    must_run("sample -n 5 @base/bigram.safetensors");
}

/* A signal at any reading of the clock loses nothing, also within an evaluation, be it the last:
 * the resumed run ends as one without a signal. */
TEST(any_moment) {
    enum { LOOKS = 80 }; /* the whole takes a second */
    must_run("train " PAIRS "-s 20 --eval-every 5 -q -o @whole " ACT);
    for (int i = 0; i < LOOKS; i += repeats(5, 1)) {
        const double at = 0.2 + tick * i;
        must_run_clocked(tick, formatted(" 2@%.3f 2@%.3f", at, at),
                         "train " PAIRS "-s 20 --eval-every 5 -o @within " ACT);
        expect_line("train --resume --out ");
        must_run("sample -n 5 @within");
        must_run("train -r -q -o @within " ACT);
        expect_same_model("within/model.safetensors", "whole/model.safetensors");
        scratch_remove(scratch("within"));
    }
}

/* The third signal ends the program at once and removes temporary files; so does one before there
 * is anything to save: --time 1000 measures the speed first. */
TEST(third) {
    run_clocked(tick, " 2@0.05", "train " SIZES "-t 1000 -o @none " ACT);
    assert_int_equal(ran.status, -SIGINT);
    assert_false(scratch_has("none/bigram.safetensors"));
    must_run("train " PAIRS "-s 50 -q -o @third " ACT);
    run_clocked(tick, " 2@3 2@3 2@3", "train -r -s 100000 --eval-every 20 -o @third " ACT);
    assert_int_equal(ran.status, -SIGINT);
    assert_false(scratch_has_temporary("third"));
    assert_true(state_number("third/state.safetensors", "step") >= 50 + 20);
}

/* A signal that was ignored at the start, as under nohup, stays ignored. Another signal does not
 * make it fatal. */
TEST(ignored) {
    signal(SIGHUP, SIG_IGN);
    must_run_clocked(tick, " 1@3 1@3", "train " PAIRS "-s 300 -q -o @ignored/m " ACT);
    assert_null(has_line("train --resume --out "));
    assert_int_equal(state_number("ignored/m/state.safetensors", "step"), 300);
    run_clocked(tick, " 15@3 1@3 1@3", "train " PAIRS "-q -o @ignored/n " ACT);
    signal(SIGHUP, SIG_DFL);
    expect_success();
    expect_line("train --resume --out ");
}

/* A reader of the output that goes away also ends the training properly, and the writing of text.
 */
TEST(reader_gone) {
    int from;
    char text[10];
    Process child = start_piped("train " PAIRS "--eval-every 100 -o @reader " ACT, &from);
    assert_true(read(from, text, sizeof text) > 0);
    close(from);
    scratch_put("stdout", "", 0);
    finish(child);
    assert_int_equal(ran.status, 1);
    assert_true(state_number("reader/state.safetensors", "step") > 0);
    must_run("sample -n 5 @reader");
    child = start_piped("sample -n 1000000000 @reader", &from);
    assert_true(read(from, text, sizeof text) > 0);
    close(from);
    assert_int_equal(end_of_process(child), -SIGPIPE);
}

/* ---- terminals ---- */

/* Starts `train` under a shell on its own terminal. *alive closes when both have ended. */
static Process start_in_shell(char *command, int *terminal, int *alive) {
    const char *name;
    char shell[] = "sh", option[] = "-c", *words[] = {shell, option, command, NULL};
    int ends[2];
    *terminal = open_terminal(&name);
    assert_int_equal(pipe(ends), 0); /* the started programs inherit it */
    Process child = start_on_terminal(name, words);
    close(ends[1]);
    *alive = ends[0];
    return child;
}

/* Closes the terminal of a training run many times, at different moments. */
TEST(closed_terminals) {
    const char *often = getenv("TRIL_CLOSINGS");
    int closings = often ? atoi(often) : repeats(10, 100);
    char *command = formatted("%s/train " PAIRS "-s 100000000 -o %s %s; true", programs_folder(),
                              scratch("closed"), ACT);
    for (int i = 0; i < closings; i++) {
        int terminal, alive, looks = 0;
        char text[256];
        Process child = start_in_shell(command, &terminal, &alive);
        /* once it trains, reads more of its output each time */
        for (bool trains = false; !trains || looks <= i % 7; looks += trains) {
            ssize_t more = read(terminal, text, sizeof text - 1);
            assert_true(more > 0);
            text[more] = 0;
            trains = trains || strstr(text, "\r  bigram: step");
        }
        close(terminal);
        end_of_process(child);
        while (read(alive, text, sizeof text) != 0) {
        } /* waits for the training, too */
        close(alive);
        assert_true(state_number("closed/state.safetensors", "step") > 0);
        assert_true(state_number("closed/model.safetensors", "step") > 0);
        assert_false(scratch_has_temporary("closed"));
        if (!scratch_has("closed/report.html")) fail_msg("no page");
        scratch_remove(scratch("closed"));
    }
}

/* Under nohup the children would inherit an ignored SIGHUP. */
SET_UP {
    signal(SIGHUP, SIG_DFL);
}
