/* test_claims.c - claims of files before a program begins. No file is lost, whatever its paths mean
 * and whichever program also writes there. */
#include "tests/scratch.h"
#include "programs/train/claims.h"
#include "base/file.h"

/* Claims these names in the scratch directory; for reading if they begin with '<', else writing. */
static Claims *claim(const char *const names[], int count) {
    static const char *const purposes[] = {"the first", "the second", "the third"};
    Claims *claims;
    assert_ok(claims_open(&claims, &err), err);
    for (int i = 0; i < count; i++)
        if (*names[i] == '<')
            assert_ok(claims_read(claims, purposes[i], scratch(names[i] + 1), &err), err);
        else
            assert_ok(claims_write(claims, purposes[i], scratch(names[i]), &err), err);
    return claims;
}

#define CLAIM(...)                            \
    claim((const char *const[]){__VA_ARGS__}, \
          (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* Claims that are granted. */
static Claims *settled(Claims *claims) {
    assert_ok(claims_settle(claims, &err), err);
    return claims;
}

static void expect_refused(Claims *claims, const char *says, const char *also) {
    err = (Error){0};
    assert_false(claims_settle(claims, &err));
    expect_error(err, says, also);
    claims_close(claims);
}

/* Trying names leaves no files, and removes created folders that stay empty. */
TEST(tried) {
    make_folder(scratch("plain"));
    Claims *claims = settled(CLAIM("plain/a", "plain/deep/er/b"));
    assert_false(scratch_has("plain/a") || scratch_has("plain/deep/er/b"));
    assert_true(scratch_has("plain/deep/er"));
    claims_close(claims);
    assert_int_equal(scratch_count("plain"), 0);
    claims = settled(CLAIM("plain/deep/b"));
    scratch_put("plain/deep/b", "b", 1);
    claims_close(claims);
    scratch_expect("plain/deep/b", "b", 1);
    assert_int_equal(scratch_count("plain/deep"), 1);
}

TEST(equal) {
    make_folder(scratch("e"));
    scratch_put("e/there", "text", 4);
    make_hard_link(scratch("e/there"), scratch("e/hard"));
    expect_refused(CLAIM("e/new", "e/../e/./new"), "the first", "the second");
    expect_refused(CLAIM("made/new", "made/../made/new"), "the first", "the second");
    assert_false(scratch_has("made"));
    expect_refused(CLAIM("<e/there", "e/there"), "the first", "the second");
    expect_refused(CLAIM("e/there", "<e/there"), "the second", "the first");
    expect_refused(CLAIM("<e/hard", "e/there"), "the first", "the second");
    expect_refused(CLAIM("e/hard", "e/there"), "the first", "the second");
    Claims *many = CLAIM("<e/there", "<e/hard", "e/new"); /* and so many that they fill its array */
    for (int i = 0; i < 237; i++) assert_ok(claims_read(many, "", scratch("e/there"), &err), err);
    claims_close(settled(many));
    scratch_expect("e/there", "text", 4);
}

/* The same through symbolic links. */
TEST(equal_by_links) {
    skip_without(SYMBOLIC_LINKS);
    make_folder(scratch("by"));
    scratch_put("by/there", "text", 4);
    make_symbolic_link("by", scratch("via"));
    make_symbolic_link("there", scratch("by/soft"));
    expect_refused(CLAIM("by/new", "via/new"), "the first", "the second");
    expect_refused(CLAIM("<via/there", "by/there"), "the first", "the second");
    expect_refused(CLAIM("<by/soft", "by/there"), "the first", "the second");
    expect_refused(CLAIM("by/there", "<by/soft"), "the second", "the first");
    scratch_expect("by/there", "text", 4);
}

TEST(other_kinds) {
    Claims *claims;
    make_folder(scratch("k"));
    make_folder(scratch("k/folder"));
    scratch_put("k/file", "", 0);
    const bool pipes = make_named_pipe(scratch("k/pipe"));
    const bool links = make_symbolic_link("nowhere", scratch("k/link"));
    if (pipes) expect_refused(CLAIM("k/pipe"), "k/pipe", "the first");
    if (links) expect_refused(CLAIM("k/link"), "k/link", "the first");
    expect_refused(CLAIM("k/folder"), "k/folder", "the first");
    expect_refused(CLAIM("k/folder/"), "k/folder", "the first");
    expect_refused(CLAIM("k/file/x"), "k/file: ", "");
    expect_refused(CLAIM("k/new/"), "k/new/: ", "the first");
    const char *name = formatted("k/%0260d", 0);
    expect_refused(CLAIM("k/short", name), name, "");
    expect_refused(CLAIM(name), name, ""); /* and no folder of locks stays */
    assert_int_equal(scratch_count("k"), 2 + pipes + links);
    assert_ok(claims_open(&claims, &err), err);
    assert_false(claims_write(claims, "the log", "", &err));
    expect_error(err, "the log");
    claims_close(claims);
}

/* ---- locks ---- */

/* A process that claims a file, reports it, and ends on request. */
typedef struct {
    const char *name;
    int ready[2], end[2];
} Holder;

static int hold_until_told(void *context) {
    Holder *h = context;
    char byte = 0;
    close(h->end[1]);
    Claims *claims = CLAIM(h->name);
    bool ok = claims_settle(claims, &err) && write(h->ready[1], "r", 1) == 1;
    bool asked = ok && read(h->end[0], &byte, 1) == 1; /* or the test has ended */
    if (asked) claims_close(claims);
    return !asked;
}

/* Forks a process whose task keeps file `name` until *alive is closed. Its locks end with it. */
static Process hold(int (*task)(void *context), const char *name, int *alive) {
    Holder h = {.name = name};
    char byte = 0;
    make_pipe(h.ready);
    make_pipe(h.end);
    Process child = fork_process(task, &h);
    close(h.ready[1]);
    close(h.end[0]);
    assert_int_equal(read(h.ready[0], &byte, 1), 1);
    close(h.ready[0]);
    *alive = h.end[1];
    return child;
}

TEST(locks) {
    int alive;
    skip_without(FORKING);
    make_folder(scratch("l"));
    make_symbolic_link("l", scratch("l2"));
    for (int killed = 0; killed < 2; killed++) {
        Process child = hold(hold_until_told, "l/a", &alive);
        const char *number = formatted(" %d ", (int)child);
        expect_refused(CLAIM("l/a"), "l/a: ", number);
        expect_refused(CLAIM("l2/b", "l2/a"), "l2/a: ", number);
        claims_close(settled(CLAIM("l/b")));           /* another name is free */
        expect_refused(CLAIM("l/a"), "l/a: ", number); /* still */
        if (killed)
            kill_process(child);
        else
            assert_int_equal(write(alive, "e", 1), 1);
        assert_int_equal(end_of_process(child), killed ? KILLED : 0);
        close(alive);
        claims_close(settled(CLAIM("l/a")));
        assert_int_equal(scratch_count("l"), 0);
    }
}

static int settle(void *name) {
    return claims_settle(CLAIM(name), &err);
}

/* A folder that was moved or removed is made again before a write, if no other program did. */
TEST(held) {
    int alive;
    skip_without(FORKING);
    make_folder(scratch("h"));
    Claims *claims = settled(CLAIM("h/a", "h/deep/b"));
    assert_ok(claims_hold(claims, &err), err);
    assert_int_equal(rename(scratch("h"), scratch("h2")), 0);
    assert_ok(claims_hold(claims, &err), err);
    assert_true(scratch_has("h/deep/.tril.locks/b"));
    char name[] = "h/a"; /* the new folder is locked, too */
    assert_int_equal(end_of_process(fork_process(settle, name)), 0);
    scratch_remove(scratch("h"));
    make_folder(scratch("h"));
    Process child = hold(hold_until_told, "h/a", &alive);
    assert_false(claims_hold(claims, &err));
    expect_error(err, "h/a: ");
    kill_process(child);
    assert_int_equal(end_of_process(child), KILLED);
    close(alive);
    assert_ok(claims_hold(claims, &err), err);
    claims_close(claims);
}

/* ---- temporary files ---- */

#define ABANDONED "t/.tril-0123456789abcdef.tmp"

/* A save removes files that a killed program left, but none with other names. */
TEST(abandoned) {
    static const char *const others[] = {"t/.tril-0123456789abcde.tmp", "t/model.tmp",
                                         "t/.tril-0123456789abcdeg.tmp"};
    make_folder(scratch("t"));
    for (int i = 0; i < 3; i++) scratch_put(others[i], "mine", 4);
    scratch_put(ABANDONED, "half", 4);
    static const char *const own[] = {ABANDONED, "t/.tril.locks"};
    Claims *claims;
    for (int i = 0; i < 2; i++) { /* such a name can be neither read nor written */
        assert_ok(claims_open(&claims, &err), err);
        assert_false(claims_read(claims, "the text", scratch(own[i]), &err));
        expect_error(err, own[i]);
        assert_false(claims_write(claims, "the text", scratch(own[i]), &err));
        claims_close(claims);
    }
    scratch_put("t/.tril.locks", "a user's", 8);
    expect_refused(CLAIM("t/a"), "t/.tril.locks: ", "");
    scratch_expect("t/.tril.locks", "a user's", 8);
    assert_int_equal(remove(scratch("t/.tril.locks")), 0);
    make_folder(scratch("t/.tril.locks"));
    scratch_put("t/.tril.locks/mine", "a user's", 8);
    scratch_put("t/.tril.locks/b", "", 0); /* of a killed program */
    make_hard_link(scratch(others[0]), scratch("t/.tril-aaaaaaaaaaaaaaaa.tmp"));
    /* nobody reads it, and opening it does not wait */
    const bool pipes = make_named_pipe(scratch("t/.tril-bbbbbbbbbbbbbbbb.tmp"));
    claims_close(settled(CLAIM("t/a")));
    assert_ok(file_write(scratch("t/c"), &(FilePart){"new", 3}, 1, &err), err);
    assert_false(scratch_has(ABANDONED));
    for (int i = 0; i < 3; i++) scratch_expect(others[i], "mine", 4);
    assert_false(scratch_has("t/.tril.locks/a") || scratch_has("t/.tril.locks/b"));
    scratch_expect("t/.tril.locks/mine", "a user's", 8);
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

/* No link is followed or replaced and no file cut, whatever has the name of a temporary file or a
 * lock. */
TEST(written) {
    FilePart part = {"new", 3};
    skip_without(SYMBOLIC_LINKS);
    make_folder(scratch("w"));
    scratch_put("precious", "precious", 8);
    make_symbolic_link("../precious", scratch("w/m.tmp"));
    make_symbolic_link("../precious", scratch("w/link"));
    assert_ok(file_write(scratch("w/m"), &part, 1, &err), err);
    assert_false(file_write(scratch("w/link"), &part, 1, &err));
    expect_error(err, "w/link", "a symbolic link");
    scratch_expect("w/m", "new", 3);
    scratch_expect("w/link", "precious", 8);
    scratch_expect("precious", "precious", 8);
    assert_int_equal(scratch_count("w"), 3);
    make_folder(scratch("w/.tril.locks"));
    make_symbolic_link("../../made", scratch("w/.tril.locks/m"));
    expect_refused(CLAIM("w/m"), "w/m: ", "");
    assert_false(scratch_has("made"));
}

/* ---- moving files aside ---- */

TEST(set_aside) {
    char where[2 * SCRATCH_PATH];
    make_folder(scratch("s"));
    make_folder(scratch("s/earlier-1"));
    make_folder(scratch("s2"));
    /* whatever has the name takes it */
    if (!make_symbolic_link("nowhere", scratch("s2/earlier-2")))
        scratch_put("s2/earlier-2", "a file of this name", 19);
    scratch_put("s/a", "a", 1);
    scratch_put("s2/b", "b", 1);
    scratch_put("s/c", "", 0); /* the file is empty, so there is nothing to lose */
    Claims *claims = settled(CLAIM("s/a", "s2/b", "s/c"));
    const char *const list[] = {copy_text(scratch("s/a")), copy_text(scratch("s2/b")),
                                copy_text(scratch("s/c"))};
    assert_ok(claims_set_aside(claims, list, 3, where, sizeof where, &err), err);
    assert_true(strstr(where, scratch("s/earlier-3")) && strstr(where, scratch("s2/earlier-3")));
    scratch_expect("s/earlier-3/a", "a", 1);
    scratch_expect("s2/earlier-3/b", "b", 1);
    assert_true(scratch_has("s/c"));
    assert_false(scratch_has("s/a") || scratch_has("s2/b"));
    assert_int_equal(scratch_count("s/earlier-1"), 0);
    assert_ok(claims_set_aside(claims, list, 3, where, sizeof where, &err), err);
    assert_string_equal(where, ""); /* no file left */
    claims_close(claims);
    scratch_put("s/a", "a", 1);
    scratch_put("s2/b", "b", 1);
    claims = settled(CLAIM("s/a", "s2/b"));
    assert_int_equal(remove(list[1]), 0); /* by another program: so the first is moved back */
    assert_false(claims_set_aside(claims, list, 2, where, sizeof where, &err));
    expect_error(err, "s2/b: ", "s2/earlier-4/b");
    claims_close(claims);
    scratch_expect("s/a", "a", 1);
    assert_false(scratch_has("s/earlier-4"));
}

FIXTURE(scratch_open, scratch_close)
