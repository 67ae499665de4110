/* test_folder.c - the folder of a run. No file of a user and no model of an earlier run may be
 * lost, whatever a path means and whichever program also trains there. */
#include "tests/table.h"
#include "base/file.h"
#include "programs/train/folder.h"

#include <sched.h>

#define TINY  "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 --eval-every 10 -j 1 -q "
#define PAIRS "-m bigram -c 16 -b 4 -s 20 --eval-every 10 -j 1 -q "

enum { RUN_FILES = 7, BIGRAM_FILES = 5 }; /* with the mark */

/* ---- the place ---- */

/* Fails, and leaves everything as it is. */
TEST(no_place) {
    make_folder(scratch("p"));
    make_folder(scratch("p/mine"));
    scratch_put("p/mine/model.safetensors", "mine", 4);
    scratch_put("p/file", "mine", 4);
    make_folder(scratch("p/taken"));
    make_folder(scratch("p/taken/.tril"));
    const bool links =
        make_symbolic_link("nowhere", scratch("p/link")) && make_symbolic_link("p", scratch("p2"));
    const bool pipes = make_named_pipe(scratch("p/pipe"));
    static const char *const places[] = {"p/mine", "p/file",  "p/file/x", "p/link",  "p2",
                                         "p/pipe", "p/new/.", "p/..",     "p/taken/"};
    const int count = scratch_count("p");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strstr(places[i], "link") || strstr(places[i], "p2") ? !links : 0) continue;
        if (strstr(places[i], "pipe") && !pipes) continue;
        run("train " TINY "-o @%s " ACT, places[i]);
        expect_failure(1, "p");
    }
    must_fail(1, "train " TINY "--out= " ACT, "--out=");
    run("train " TINY "-o @new/%0260d " ACT, 0);
    expect_failure(1, "0");
    run("train " TINY "-o @new/%01000d " ACT, 0);
    expect_failure(1, "0");
    must_fail(1, "train " TINY "-o @new/deep @nothing", "nothing");
    assert_false(scratch_has("new/deep"));
    assert_int_equal(scratch_count("p"), count);
    scratch_expect("p/mine/model.safetensors", "mine", 4);
    scratch_expect("p/file", "mine", 4);
    must_run("train " TINY "-o @new/deep/ " ACT); /* a slash at the end is none of the name */
    assert_int_equal(scratch_count("new/deep"), RUN_FILES);
}

/* A program that ended before its first file leaves a folder in which a run may begin. */
TEST(empty) {
    make_folder(scratch("e"));
    must_fail(1, "train " TINY "-o @e @nothing", "nothing");
    assert_int_equal(scratch_count("e"), 0);
    scratch_put("e/.tril", "", 0);
    scratch_put("e/.tril-0123456789abcdef.tmp", "half", 4);
    must_run("train " TINY "-o @e " ACT);
    assert_int_equal(scratch_count("e"), RUN_FILES);
    assert_false(scratch_has("e-1"));
}

/* ---- an earlier run ---- */

/* It is renamed, whole, with whatever the user put there, and can be resumed. */
TEST(earlier) {
    static const char moved[] = "o-3";
    must_run("train " TINY "-o @o " ACT);
    scratch_put("o/notes", "mine", 4);
    make_folder(scratch("o-1"));
    if (!make_symbolic_link("nowhere", scratch("o-2"))) scratch_put("o-2", "mine", 4);
    must_run("sample --info @o");
    const char *info = copy_text(ran.out);
    must_run("train " TINY "--seed 2 -o @o " ACT);
    expect_line(scratch(moved));
    assert_int_equal(scratch_count(moved), RUN_FILES + 1);
    assert_int_equal(scratch_count("o"), RUN_FILES);
    assert_int_equal(scratch_count("o-1"), 0);
    scratch_expect("o-3/notes", "mine", 4);
    must_run("sample --info @o-3");
    assert_string_equal(ran.out, info);
    must_run("sample --info @o-3/model.safetensors");
    assert_string_equal(ran.out, info);
    must_run("train -r -s 30 -q -o @o-3 " ACT);
    must_run("train -r -s 30 -q -o @o " ACT);
    assert_false(scratch_has("o-4") || scratch_has("o-3-1"));
    must_fail(1, "train " TINY "-o @o @nothing", "nothing"); /* so nothing is renamed */
    assert_int_equal(scratch_count("o"), RUN_FILES);
    /* a model of the run begins another one */
    must_run("train -b 4 -s 20 -q --init @o -o @o " ACT);
    assert_int_equal(scratch_count("o-4"), RUN_FILES);
}

/* A text in the folder is never moved. A resumed run moves nothing. */
TEST(texts) {
    size_t length;
    char *play = slurp(ACT, &length);
    static const char *const names[] = {"t/a", "t/deep/a", "tt/a", "link", "t/../t/a"};
    must_run("train " TINY "-o @t " ACT);
    make_folder(scratch("t/deep"));
    scratch_put("t/a", play, length);
    scratch_put("t/deep/a", play, length);
    const bool links =
        make_symbolic_link("t", scratch("tt")) && make_symbolic_link("t/a", scratch("link"));
    for (int i = 0; i < 5; i++) {
        if (!links && (i == 2 || i == 3)) continue;
        run("train " TINY "-o @t " ACT " @%s", names[i]);
        expect_failure(1, names[i]);
        run("train -q -r -s %d -o @t @%s", 21 + i, names[i]);
        expect_success();
    }
    assert_false(scratch_has("t-1"));
    scratch_expect("t/a", play, length);
    make_folder(scratch("t-notes")); /* beside the folder, whose name begins alike */
    scratch_put("t-notes/a", play, length);
    must_run("train " TINY "-o @t @t-notes/a");
    scratch_expect("t-1/deep/a", play, length);
}

/* --continue resumes a run of the same rung on the same text, else it begins a new one. */
TEST(continue) {
    size_t length;
    char *other = slurp(ACT, &length);
    scratch_put("one.txt", other, length);
    other[length / 2] = other[length / 2] == 'e' ? 'a' : 'e';
    scratch_put("two.txt", other, length);
    must_run("train -m bigram -b 4 -c 16 -j 1 -s 20 --continue -o @c @one.txt");
    must_run("train --continue -s 30 -o @c @one.txt");
    expect_line("20");
    must_run("train --continue -s 25 -o @c @one.txt"); /* has more steps already */
    assert_int_equal(count_progress(), 0);
    assert_false(scratch_has("c-1"));
    must_run("train -m bigram -b 4 -c 16 -j 1 -s 20 --continue -o @c @two.txt");
    assert_true(scratch_has("c-1") && has_line("20/20"));
    must_run("train --continue -m bigram -s 40 -o @c @two.txt");
    expect_line("20");
    must_run("train --continue --preset nanogpt-cpu -l 1 -w 16 -b 4 -c 16 -s 25 -o @c @two.txt");
    assert_null(has_line("40"));
    after("\ngpt ");
    scratch_put("bytes", "\xff", 1); /* no UTF-8, as which the state reads its text */
    must_run("train --continue --bytes -m gpt -l 1 -w 8 -c 16 -s 2 -o @c @two.txt @bytes");
    must_fail(1, "train -q --continue --init @none -o @c @two.txt", scratch("none"));
    must_fail(1, "train -q -r -o @c @one.txt", "one.txt: ");
    if (system_lacks(FILE_RIGHTS)) return;
    set_rights(scratch("c/state.safetensors"), 0);
    run("train -q -r -s 12 -o @c @two.txt");
    assert_non_null(strstr(ran.err, strerror(EACCES)));
}

/* ---- locks ---- */

/* Two programs at once: the second fails, with the number of the first. */
TEST(two_at_once) {
    int from;
    char number[64];
    Process child = start_piped("train " PAIRS "-s 1000000000 --eval-every 10 -o @two " ACT, &from);
    while (!scratch_has("two/state.safetensors")) sched_yield(); /* now the first has its lock */
    if (system_lacks(WRITER_NUMBERS))
        *number = 0;
    else
        snprintf(number, sizeof number, " %d ", (int)child);
    must_fail(1, "train " TINY "--seed 2 -o @two " ACT, number, "two: ");
    must_fail(1, "train -q -r -o @two " ACT, number, "two: ");
    must_run("train " TINY "--seed 2 -o @three " ACT);
    send_signal(child, SIGINT);
    scratch_put("stdout", "", 0);
    while (read(from, number, sizeof number) > 0) {
    }
    close(from);
    finish(child);
    expect_success();
    assert_false(scratch_has("two-1"));
    must_run("train " TINY "--seed 2 -o @two " ACT);
    assert_int_equal(scratch_count("two-1"), BIGRAM_FILES);
}

/* A process that keeps a folder until it is killed, or for a minute. */
static int keep_folder(void *name) {
    Folder *folder;
    if (!folder_open(&folder, scratch(name), &err)) return 1;
    scratch_put("kept", "", 0);
    sleep(60);
    return 0;
}

/* A folder that was moved or removed is made again before a write, if no other program did. */
TEST(held) {
    char name[] = "h/deep";
    Folder *folder;
    skip_without(FORKING);
    assert_ok(folder_open(&folder, scratch("h/deep"), &err), err);
    assert_ok(folder_hold(folder, &err), err);
    assert_int_equal(rename(scratch("h"), scratch("h2")), 0);
    assert_ok(folder_hold(folder, &err), err);
    assert_int_equal(scratch_count("h/deep"), 1);
    scratch_remove(scratch("h"));
    Process child = fork_process(keep_folder, name);
    for (int i = 0; !scratch_has("kept") && i < 1000000; i++) sched_yield();
    assert_true(scratch_has("kept"));
    assert_false(folder_hold(folder, &err));
    expect_error(err, "h/deep: ");
    kill_process(child);
    assert_int_equal(end_of_process(child), KILLED);
    assert_ok(folder_hold(folder, &err), err);
    /* another run that was moved there is never written into */
    assert_int_equal(rename(scratch("h/deep"), scratch("h/own")), 0);
    make_folder(scratch("h/deep"));
    scratch_put("h/deep/.tril", "", 0);
    scratch_put("h/deep/model.safetensors", "mine", 4);
    assert_false(folder_hold(folder, &err));
    expect_error(err, "h/deep: ");
    scratch_remove(scratch("h/deep"));
    assert_int_equal(rename(scratch("h/own"), scratch("h/deep")), 0);
    assert_ok(folder_hold(folder, &err), err);
    folder_close(folder);
    assert_false(scratch_has("h/deep"));
}

/* ---- temporary files ---- */

#define ABANDONED "t/.tril-0123456789abcdef.tmp"

/* A save removes files that a killed program left, but none with other names. */
TEST(abandoned) {
    static const char *const others[] = {"t/.tril-0123456789abcde.tmp", "t/model.tmp",
                                         "t/.tril-0123456789abcdeg.tmp"};
    scratch_remove(scratch("t"));
    make_folder(scratch("t"));
    for (int i = 0; i < 3; i++) scratch_put(others[i], "mine", 4);
    scratch_put(ABANDONED, "half", 4);
    make_hard_link(scratch(others[0]), scratch("t/.tril-aaaaaaaaaaaaaaaa.tmp"));
    /* nobody reads it, and opening it does not wait */
    const bool pipes = make_named_pipe(scratch("t/.tril-bbbbbbbbbbbbbbbb.tmp"));
    assert_ok(file_write(scratch("t/c"), &(FilePart){"new", 3}, 1, &err), err);
    assert_false(scratch_has(ABANDONED));
    for (int i = 0; i < 3; i++) scratch_expect(others[i], "mine", 4);
    assert_true(scratch_has("t/.tril-aaaaaaaaaaaaaaaa.tmp")); /* it has a second name */
    assert_true(!pipes || scratch_has("t/.tril-bbbbbbbbbbbbbbbb.tmp"));
}

static int remove_always(void *path) {
    while (path) filesystem_remove_unused(path);
    return 0;
}

/* Keeps a temporary file that another process is writing, from its first moment. A failure is no
 * lock of another. */
TEST(in_use) {
    int made = 0, lost = 0;
    skip_without(FORKING);
    assert_int_equal(filesystem_lock(-1, &(long){0}), LOCK_UNSUPPORTED);
    char *path = copy_text(scratch(ABANDONED));
    Process child = fork_process(remove_always, path);
    for (int i = 0, file; i < 20000; i++)
        if ((file = filesystem_create_temporary(path)) >= 0) {
            made++;
            lost += remove(path) != 0;
            close(file);
        }
    kill_process(child);
    assert_int_equal(end_of_process(child), KILLED);
    assert_true(made > 0 && lost == 0);
}

/* A resumed run follows and replaces no link, whichever output's name it has. (test_base has a new
 * file.) */
TEST(written) {
    skip_without(SYMBOLIC_LINKS);
    scratch_put("precious", "precious", 8);
    must_run("train " TINY "-o @wl " ACT);
    static const char *const files[] = {"model.safetensors", "model.csv", "report.html",
                                        "state.safetensors"};
    for (int i = 0; i < 4; i++) {
        const char *path = formatted("wl/%s", files[i]);
        size_t length;
        char *bytes = slurp(scratch(path), &length);
        assert_int_equal(remove(scratch(path)), 0);
        make_symbolic_link("../precious", scratch(path));
        run("train -q -r -s %d -o @wl " ACT, 40 + 20 * i);
        expect_exit(1, files[i]);
        scratch_expect("precious", "precious", 8);
        assert_int_equal(remove(scratch(path)), 0);
        scratch_put(path, bytes, length);
    }
}

/* ---- standard descriptors ---- */

/* Files never get the number of a closed standard stream. */
TEST(closed_descriptors) {
    skip_without(SHELL_TOOLS);
    must_run("train " TINY "-o @open " ACT);
    for (int mask = 1; mask < 8; mask++) {
        const char *command = formatted("%s/train " TINY "-o '%s' " ACT "%s%s%s", programs_folder(),
                                        scratch("shut"), mask & 1 ? " <&-" : "",
                                        mask & 2 ? " >&-" : " >/dev/null", mask & 4 ? " 2>&-" : "");
        assert_int_equal(run_shell(command), 0);
        char *log = slurp(scratch("shut/model.csv"), NULL);
        assert_int_equal(strncmp(log, "step,tokens,", 12), 0);
        assert_null(strstr(log, "bigram"));
        expect_same_model("shut/model.safetensors", "open/model.safetensors");
        scratch_remove(scratch("shut"));
    }
}
