/* test_outputs.c - the files that ./train writes, and those it must not touch. No file of a user
 * and no model of an earlier training run may be lost. */
#include "tests/table.h"
#include "programs/train/ladder.h"
#include "programs/train/planning.h"

#include <sched.h>

#define TINY  "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 --eval-every 10 -j 1 -q "
#define PAIRS "-m bigram -c 16 -b 4 -s 20 --eval-every 10 -j 1 -q "

static char *play;
static size_t play_length;

/* Copies the text, whose loss would be noticed. */
static void put_text(const char *name) {
    scratch_put(name, play, play_length);
}

static void expect_text(const char *name) {
    scratch_expect(name, play, play_length);
}

static void put_other(const char *name) {
    char *other = scrap(play_length, 1);
    memcpy(other, play, play_length);
    other[play_length / 2] = other[play_length / 2] == 'e' ? 'a' : 'e';
    scratch_put(name, other, play_length);
}

/* ---- before training ---- */

/* Every pair of files of a training run that a command can make the same, including the text. */
TEST(same_files) {
    static const char *const pairs[][2] = {
        {"--ladder -o @p/ladder.csv @t.txt", "p/ladder.csv: "},
        {"-o @p/report.html @t.txt", "p/report.html: "},
        {"-o @p/bigram.safetensors @t.txt", "p/bigram.safetensors: "},
        {"-o @p/bigram.csv @t.txt", "p/bigram.csv: "},
        {"-o @t.txt @soft.txt", "t.txt: "},
    };
    put_text("t.txt");
    const bool links = make_symbolic_link("t.txt", scratch("soft.txt"));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strstr(pairs[i][0], "@soft") && !links) continue;
        must_fail(1, formatted("train " TINY "%s", pairs[i][0]), pairs[i][1]);
        assert_false(scratch_has("p"));
        expect_text("t.txt");
    }
    /* a text with a name that the training itself would use */
    static const char *const names[] = {"ladder.csv", "report.html", "bigram.csv", "m.csv",
                                        "m.last.safetensors"};
    make_folder(scratch("q"));
    for (int i = 0; i < 5; i++) {
        const char *name = formatted("q/%s", names[i]);
        put_text(name);
        must_fail(1, formatted("train " TINY "--ladder -o @q/m.safetensors @%s", name), names[i]);
        expect_text(name);
        assert_int_equal(remove(scratch(name)), 0);
    }
}

/* An unwritable path is an error at once. */
TEST(no_place) {
    make_folder(scratch("place"));
    make_folder(scratch("place/ladder.csv"));
    make_folder(scratch("pipes"));
    const bool pipes =
        make_named_pipe(scratch("place/pipe")) && make_named_pipe(scratch("pipes/bigram.csv"));
    static const char *const commands[][2] = {
        {"--ladder -o @pipes/m " ACT, "pipes/bigram.csv: "},
        {"--ladder -o @place/m " ACT, "place/ladder.csv: "},
        {"-m gpt -o @place/pipe " ACT, "place/pipe: "},
        {"-m gpt -o @pipes " ACT, "pipes: "},
        {"--out= " ACT, ""},
        {"-o @place/pipe/m " ACT, "place/pipe"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strstr(commands[i][0], "pipe") && !pipes) continue;
        must_fail(1, formatted("train " TINY "-s 1000000 %s", commands[i][0]), commands[i][1]);
        assert_false(scratch_has("new"));
    }
    run("train " TINY "-s 1000000 -o @new/%0240d " ACT, 0);
    expect_failure(1, "last.safetensors");
    must_run("train " PAIRS "-s 2 -o @new/%0238d.safetensors " ACT, 0);
    assert_true(scratch_has(formatted("new/%0238d.last.safetensors", 0))); /* 255 bytes, the most */
}

/* Two programs at once: the second fails, with the number of the first. */
TEST(two_at_once) {
    int from;
    char number[64];
    Process child =
        start_piped("train " PAIRS "-s 1000000000 --eval-every 10 -o @two/m " ACT, &from);
    while (!scratch_has("two/m.last.safetensors")) sched_yield(); /* now the first has its locks */
    if (system_lacks(WRITER_NUMBERS))
        *number = 0;
    else
        snprintf(number, sizeof number, " %d ", (int)child);
    must_fail(1, "train " TINY "--seed 2 -o @two/m " ACT, number, "two/m.last.safetensors");
    run("train " TINY "--seed 2 -o @two/other " ACT); /* a folder has only one page */
    expect_failure(1, number, "two/report.html");
    must_run("train " TINY "--seed 2 -o @three/m " ACT);
    send_signal(child, SIGINT);
    scratch_put("stdout", "", 0);
    while (read(from, number, sizeof number) > 0) {
    }
    close(from);
    finish(child);
    expect_success();
    assert_false(scratch_has("two/.tril.locks"));
    must_run("train " TINY "--seed 2 -o @two/m " ACT);
}

/* ---- existing files ---- */

static const char moved[] = "/earlier-"; /* the folder of the moved files */

/* A model of another text is set aside, whole, and can be resumed there. */
TEST(other_text) {
    put_text("one.txt");
    put_other("two.txt");
    must_run("train " TINY "-o @o/model.safetensors @one.txt");
    size_t length;
    char *before = slurp(scratch("o/model.safetensors"), &length);
    must_run("train " TINY "-o @o/model.safetensors @two.txt");
    expect_line(moved, scratch("o/earlier-1"));
    assert_int_equal(scratch_count("o/earlier-1"), 7);
    assert_int_equal(scratch_count("o"), 7);
    scratch_expect("o/earlier-1/model.safetensors", before, length);
    must_run("sample --info @o/earlier-1/model.safetensors");
    expect_line("text ", "one.txt");
    expect_line("command ", "train ", "o/model.safetensors", "one.txt");
    char *date = copy_text(expect_line("date ", "UTC"));
    const char *loss = formatted("%.4f", strtod(after("held_out_loss "), NULL));
    date[strcspn(date, "\n")] = 0;
    const char *const about[] = {"one.txt", "gpt", loss, date + strlen("date             "), NULL};
    assert_non_null(find_line(slurp(scratch("o/earlier-1/about.txt"), NULL), about));
    must_run("train -r -s 30 -q -o @o/earlier-1/model.safetensors @one.txt");
    char one[900] = "@"; /* a long name for it */
    strcpy((char *)memset(one + 1, '/', 890) + 889, "one.txt");
    must_run("train " TINY "-s 5 -o @o/model.safetensors %s %s %s %s %s", one, one, one, one, one);
    assert_non_null(has_line(moved, scratch("o/earlier-2")));
    must_run("sample --info @o/model.safetensors");
    assert_true(has_line("text ", "//one.txt") && has_line("command ", "//one.txt ..."));
    must_run("train -q -r -s 9 -o @o/model.safetensors @one.txt");
    must_fail(1, "train -q -r -s 9 -o @o/model.safetensors @two.txt", "two.txt: ");
    if (system_lacks(FILE_RIGHTS)) return;
    set_rights(scratch("o/model.last.safetensors"), 0);
    run("train -q -r -s 12 -o @o/model.safetensors @one.txt");
    assert_non_null(strstr(ran.err, strerror(EACCES)));
}

/* Files that no training made are set aside, too. */
TEST(foreign_files) {
    static const char *const names[] = {"thesis", "thesis.csv", "report.html",
                                        "bigram.safetensors"};
    put_text("mine.txt");
    make_folder(scratch("f"));
    for (int i = 0; i < 4; i++) {
        put_text(formatted("f/%s", names[i]));
        must_run("train " TINY "-o @f/thesis @mine.txt");
        expect_line(moved);
        expect_text(formatted("f/earlier-%d/%s", i + 1, names[i]));
        must_run("train -r -s 30 -q -o @f/thesis @mine.txt"); /* its own files stay */
        assert_null(has_line(moved));
    }
}

/* The bytes of files, to find them again elsewhere. */
typedef struct {
    const char *name;
    char *bytes;
    size_t length;
} Kept;

static void keep_files(const char *folder, Kept *files, int count) {
    for (int i = 0; i < count; i++)
        files[i].bytes =
            slurp(scratch(formatted("%s/%s", folder, files[i].name)), &files[i].length);
}

static void expect_files(const char *folder, Kept *files, int count) {
    for (int i = 0; i < count; i++)
        scratch_expect(formatted("%s/%s", folder, files[i].name), files[i].bytes, files[i].length);
}

/* Files belong to a training run, not to a text: a resumed training sets aside files of another
 * training on the same text. */
TEST(same_text) {
    Kept rung[] = {{.name = "gpt.safetensors"}, {.name = "gpt.csv"}, {.name = "report.html"}};
    Kept beside[] = {
        {.name = "bigram.safetensors"}, {.name = "bigram.csv"}, {.name = "report.html"}};
    put_text("mine.txt");
    must_run("train " TINY "--ladder -m conv -o @s/model.safetensors @mine.txt");
    must_run("train " TINY "-s 40 -o @s/gpt.safetensors @mine.txt");
    keep_files("s", rung, 3);
    keep_files("s", beside, 2);
    must_run("train -r -s 30 -q -o @s/model.safetensors @mine.txt");
    expect_line(moved);
    expect_files("s/earlier-2", rung, 3);
    expect_files("s/earlier-2", beside, 2);
    /* of its own only the table, which the page alone tells from others */
    assert_int_equal(scratch_count("s/earlier-2"), 6);
    assert_true(scratch_has("s/earlier-2/ladder.csv"));
    must_run("train -r -s 35 -q -o @s/model.safetensors @mine.txt");
    assert_null(has_line(moved));
    /* nor does the other training take the ladder's */
    keep_files("s", rung, 1);
    must_run("train -r -s 50 -q -o @s/gpt.safetensors @mine.txt");
    expect_line(moved);
    expect_files("s/earlier-3", rung, 1);
    /* two training runs that differ only in their names share a page and a baseline */
    must_run("train " TINY "-o @n/a @mine.txt");
    must_run("train " TINY "-o @n/b @mine.txt");
    keep_files("n", beside, 3);
    must_run("train -r -s 30 -q -o @n/a @mine.txt");
    expect_line(moved);
    expect_files("n/earlier-2", beside, 3);
}

/* A ladder that was interrupted before the other training's rung sets its files aside. */
TEST(later_rung) {
    Kept rung[] = {{.name = "gpt.safetensors"}, {.name = "gpt.csv"}, {.name = "report.html"}};
    skip_without(SIGNALS);
    put_text("mine.txt");
    must_run_clocked(0.01, " 2@0.3", "train " TINY "--ladder -m conv -o @i/model @mine.txt");
    must_run("train " TINY "-s 40 -o @i/gpt.safetensors @mine.txt");
    keep_files("i", rung, 3);
    must_run("train -r -q -o @i/model @mine.txt");
    expect_files("i/earlier-2", rung, 3);
}

/* Files that were changed since the training wrote them are also set aside. */
TEST(changed_files) {
    static const char *const names[] = {"bigram.csv", "ladder.csv"};
    must_run("train " TINY "--ladder -o @e/gpt.safetensors " ACT);
    for (int i = 0; i < 2; i++) {
        Kept file = {.name = names[i]};
        FILE *out = fopen(scratch(formatted("e/%s", names[i])), "ab");
        assert_true(out && fputs("a remark\n", out) >= 0 && fclose(out) == 0);
        keep_files("e", &file, 1);
        must_run("train -r -s %d -q -o @e/gpt.safetensors " ACT, 30 + i);
        expect_line(moved);
        const char *name = formatted("e/earlier-%d", i + 1);
        assert_int_equal(scratch_count(name), 1);
        expect_files(name, &file, 1);
    }
}

/* A state is read again once its files are locked: meanwhile another training run may have written
 * it. */
TEST(state_changes) {
    Kept later[] = {{.name = "m.safetensors"}, {.name = "m.last.safetensors"}};
    char *words[] = {copy_text("train"), copy_text("-rqs30"),
                     copy_text("-o"),    copy_text(scratch("u/m.safetensors")),
                     copy_text(ACT),     NULL};
    Arguments arguments;
    Ladder *ladder;
    Plan *plan;
    must_run("train " TINY "-o @u/m.safetensors " ACT);
    assert_ok(command_line_read(&arguments, 5, words, &err), err);
    assert_ok(plan_open(&plan, &arguments, &err), err);
    must_run("train " TINY "-s 60 --seed 5 -o @u/m.safetensors " ACT);
    keep_files("u", later, 2);
    assert_false(ladder_open(&ladder, plan, &err));
    expect_error(err, "u/m");
    ladder_close(ladder);
    plan_close(plan);
    expect_files("u", later, 2);
}

/* --continue resumes a run of the same rung on the same text, else it begins a new one. */
TEST(continue) {
    put_text("one.txt");
    put_other("two.txt");
    must_run("train -m bigram -b 4 -c 16 -j 1 -s 20 --continue -o @c/m @one.txt");
    assert_null(has_line("m.last.safetensors"));
    must_run("train --continue -s 30 -o @c/m @one.txt");
    expect_line("20");
    must_run("train --continue -s 25 -o @c/m @one.txt"); /* has more steps already */
    assert_int_equal(count_progress(), 0);
    must_run("train -m bigram -b 4 -c 16 -j 1 -s 20 --continue -o @c/m @two.txt");
    expect_line(moved);
    assert_non_null(has_line("20/20"));
    must_run("train --continue -m bigram -s 40 -o @c/m @two.txt");
    expect_line("20");
    must_run("train --continue --preset nanogpt-cpu -l 1 -w 16 -b 4 -c 16 -s 25 -o @c/m @two.txt");
    assert_null(has_line("40"));
    after("\ngpt ");
    scratch_put("bytes", "\xff", 1); /* no UTF-8, as which the state reads its text */
    must_run("train --continue --bytes -m gpt -l 1 -w 8 -c 16 -s 2 -o @c/m @two.txt @bytes");
    must_fail(1, "train -q --continue --init @none -o @c/m @two.txt", scratch("none"));
}

/* A log that was changed after the training is set aside, with all its content. */
TEST(changed_log) {
    size_t length;
    must_run("train " PAIRS "-o @log/m " ACT);
    char *log = slurp(scratch("log/m.csv"), &length);
    scratch_put("log/m.csv", log, length / 2);
    must_run("train -r -s 30 -o @log/m " ACT);
    expect_line("m.csv: ", "log/earlier-1");
    scratch_expect("log/earlier-1/m.csv", log, length / 2);
    assert_non_null(strstr(slurp(scratch("log/m.csv"), NULL), "\n21,"));
    must_run("train -r -s 40 -o @log/m " ACT);
    assert_null(has_line("m.csv: "));
}

/* ---- standard descriptors ---- */

/* Files never get the number of a closed standard stream. */
TEST(closed_descriptors) {
    skip_without(SHELL_TOOLS);
    must_run("train " TINY "-o @open/m " ACT);
    for (int mask = 1; mask < 8; mask++) {
        const char *command = formatted("%s/train " TINY "-o '%s' " ACT "%s%s%s", programs_folder(),
                                        scratch("shut/m"), mask & 1 ? " <&-" : "",
                                        mask & 2 ? " >&-" : " >/dev/null", mask & 4 ? " 2>&-" : "");
        assert_int_equal(run_shell(command), 0);
        char *log = slurp(scratch("shut/m.csv"), NULL);
        assert_int_equal(strncmp(log, "step,tokens,", 12), 0);
        assert_null(strstr(log, "bigram"));
        expect_same_model("shut/m", "open/m");
        scratch_remove(scratch("shut"));
    }
}

static int set_up(void **state) {
    play = slurp(ACT, &play_length);
    return scratch_open(state);
}

FIXTURE(set_up, scratch_close)
