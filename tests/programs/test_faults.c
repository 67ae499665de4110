/* test_faults.c - failures of the machine: no memory, a full disk, no permission, a text that
 * changes, a folder or a reader that disappears. No saved file may be lost, and the program must
 * report the failure in one sentence. */
#include "tests/support.h"
#include "tests/state.h"
#include "tests/command.h"

#define TINY "-l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -s 40 --eval-every 20 "

/* ---- memory ---- */

/* The beginning of the play: the programs request memory as often as with all of it. */
#define VERSE "@verse.txt"

/* Runs a command once for each memory request, or every third or sixteenth, which then fails.
 * Returns the number of requests. */
static int fail_in_turn(const char *program, const char *command, void (*prepare)(void),
                        void (*look)(void)) {
    const int apart = repeats(16, 3);
    int n = 0;
    for (bool failed = true; failed; n += apart) {
        setenv("TRIL_FAIL_AT", formatted("%d", n + 1), 1);
        setenv("TRIL_FAILED", scratch("failed"), 1);
        prepare();
        run("faulty/%s %s", program, command);
        unsetenv("TRIL_FAIL_AT");
        failed = remove(scratch("failed")) == 0;
        if (!failed || ran.status == 0) {
            expect_success(); /* libc can work without some of its memory */
        } else {
            expect_exit_with(1, NULL, TEXTS(program)); /* whatever the memory was for */
        }
        look();
    }
    return n - apart;
}

static char *model, *state_file, *log_file;
static size_t model_length, state_length, log_length;

static void put_back(void) {
    scratch_remove(scratch("memory/earlier-1"));
    scratch_put("memory/m.safetensors", model, model_length);
    scratch_put("memory/m.last.safetensors", state_file, state_length);
    scratch_put("memory/m.csv", log_file, log_length);
}

/* A file is in its place, or was set aside for a training run that then failed. */
static void look_at(const char *name) {
    const char *in_place = formatted("memory/%s", name);
    const char *aside = formatted("memory/earlier-1/%s", name);
    assert_true(scratch_has(in_place) || scratch_has(aside));
    if (scratch_has(in_place)) state_number(in_place, "step");
    if (scratch_has(aside)) state_number(aside, "step");
}

static void look_at_both(void) {
    look_at("m.safetensors");
    look_at("m.last.safetensors");
}

static void do_nothing(void) {}

#define SHORT "-l 2 -w 8 -H 2 -c 8 -b 2 -s 4 --eval-every 2 -d 0.1 --val-spread "

#define NEW "+ 0123456789 + 0123456789 + 0123456789 + 0123456789 + 0123456789 +"

TEST(no_memory) {
    skip_without(FAULTY_MEMORY);
    char *play = slurp(PLAY, NULL);
    scratch_put("verse.txt", play, 400);
    must_run("train " SHORT "-q -o @memory/m.safetensors " VERSE);
    model = slurp(scratch("memory/m.safetensors"), &model_length);
    state_file = slurp(scratch("memory/m.last.safetensors"), &state_length);
    log_file = slurp(scratch("memory/m.csv"), &log_length);
    int training =
        fail_in_turn("train", SHORT "-j 2 -o @memory/m.safetensors " VERSE, put_back, look_at_both);
    assert_true(training > 60);
    int resumed =
        fail_in_turn("train", "-r -s 6 -o @memory/m.safetensors " VERSE, put_back, look_at_both);
    assert_true(resumed > 60);
    put_back();
    static const char *const commands[] = {
        "-n 3 -p THE @memory/m.safetensors", "--score " VERSE " @memory/m.safetensors",
        "--explain THE @memory/m.safetensors", "--info @memory/m.safetensors"};
    for (int i = 0; i < 4; i++)
        assert_true(fail_in_turn("sample", commands[i], do_nothing, do_nothing) > 5);
    scratch_put("new.txt", NEW, sizeof NEW - 1); /* characters that the model lacks */
    assert_true(
        fail_in_turn("train",
                     "-q -b 4 -s 5 -j 2 --init @memory/m.safetensors -o @memory/n.safetensors "
                     "@new.txt",
                     put_back, look_at_both) > 60);
}

/* ---- the disk ---- */

/* Runs a shell script as owner of a private mount namespace. $T is the scratch directory. Skips the
 * test if that is not permitted. */
static void mounted(const char *script) {
    setenv("T", scratch_directory, 1);
    setenv("P", programs_folder(), 1);
    if (run_shell("unshare -rm mount -t tmpfs tril \"$T\" 2>\"$T/why\"") != 0) skip();
    int length =
        snprintf(ran.command, sizeof ran.command, "unshare -rm sh -euc '%s' >\"$T/out\"", script);
    assert_true(length < (int)sizeof ran.command);
    if (run_shell(ran.command) != 0) fail_msg("%s", ran.command);
}

/* Files may not grow: training continues to its end and reports it once. The old files stay. */
TEST(no_room) {
    skip_without(SIZE_LIMITS);
    size_t before, after_it;
    must_run("train " TINY "-m bigram -o @room/model " PLAY);
    char *bytes = slurp(scratch("room/model"), &before);
    limit_file_sizes(before / 2, NULL);
    run("train " TINY "--seed 2 -m bigram -o @room/model " PLAY);
    end_file_size_limit();
    expect_exit(1, "model: ");
    expect_line("20/40"); /* not saved */
    expect_line("40/40"); /* it tried again */
    char *now = slurp(scratch("room/earlier-1/model"), &after_it);
    assert_int_equal(before, after_it);
    assert_memory_equal(bytes, now, before);
    assert_false(scratch_has_temporary("room"));
}

/* The same on a real file system that is full: a model of 16 KiB on one of 28 KiB. */
TEST(small_disk) {
    skip_without(SHELL_TOOLS);
    must_run("train " TINY "-q -m bigram -o @old.safetensors " PLAY);
    mounted("mkdir $T/small; mount -t tmpfs -o size=28k tril $T/small;"
            "cp $T/old.safetensors $T/small/m.safetensors;"
            "$P/train " TINY "-q --seed 2 -m bigram --log $T/log.csv"
            " -o $T/small/m.safetensors " PLAY " 2>$T/said && exit 3;"
            "cmp $T/old.safetensors $T/small/earlier-1/m.safetensors;"
            "ls $T/small | grep -vx report.html >$T/left"); /* a short page fits */
    char *said = slurp(scratch("said"), NULL), *left = slurp(scratch("left"), NULL);
    assert_non_null(strstr(said, "m.safetensors: "));
    assert_int_equal(strncmp(said, "train: ", 7), 0);
    assert_string_equal(left, "earlier-1\n");
}

/* Reports an unwritable folder before training. */
TEST(read_only) {
    skip_without(SHELL_TOOLS);
    must_run("train " TINY "-q -m bigram -o @old.safetensors " PLAY);
    mounted("mkdir $T/fixed; mount -t tmpfs tril $T/fixed;"
            "cp $T/old.safetensors $T/fixed/m.safetensors; mount -o remount,bind,ro $T/fixed;"
            "$P/train " TINY "-q -s 1000000 -m bigram -o $T/fixed/m.safetensors " PLAY
            " 2>$T/said && exit 3;"
            "$P/train " TINY "-q -s 1000000 -m bigram -o $T/fixed/new/m.safetensors " PLAY
            " 2>>$T/said && exit 4;"
            "$P/sample -n 3 $T/fixed/m.safetensors;"
            "cmp $T/old.safetensors $T/fixed/m.safetensors");
    size_t length;
    char *said = slurp(scratch("said"), &length), *second = strchr(said, '\n');
    assert_non_null(second);
    assert_int_equal(strncmp(said, "train: ", 7), 0);
    assert_int_equal(strncmp(second, "\ntrain: ", 8), 0);
    assert_ptr_equal(strchr(second + 1, '\n'), said + length - 1);
    assert_non_null(strstr(said, "fixed"));
    assert_non_null(strstr(second, "fixed/new"));
}

/* ---- changes during a training run ---- */

static void spoil_text(Process child, int i) {
    (void)child;
    if (i == 0) assert_true(resize_file(scratch("moving.txt"), 10));
    if (i == 1) scratch_put("moving.txt", "\xff\xff\xff", 3);
    if (i == 2) assert_int_equal(remove(scratch("moving.txt")), 0);
}

/* The text is read once. Changing the file later does not change the training. */
TEST(text_changes) {
    size_t length;
    char *text = slurp(PLAY, &length);
    scratch_put("moving.txt", text, length);
    run_meanwhile("train " TINY "-s 200 -m gpt -o @moved/m.safetensors @moving.txt", spoil_text);
    expect_success();
    assert_false(scratch_has("moving.txt"));
    must_run("train " TINY "-s 200 -m gpt -o @still/m.safetensors " PLAY);
    expect_same_model("moved/m.safetensors", "still/m.safetensors");
}

static void remove_folder(Process child, int i) {
    (void)child;
    if (i == 3) scratch_remove(scratch("folder"));
}

/* A removed folder is recreated at the next write. */
TEST(folder_goes) {
    skip_without(OPEN_REMOVAL);
    run_meanwhile("train " TINY "-s 20000 -m bigram -o @folder/m.safetensors " PLAY, remove_folder);
    expect_success();
    state_number("folder/m.safetensors", "step");
    state_number("folder/m.last.safetensors", "step");
    assert_true(scratch_has("folder/report.html"));
}

/* ---- readers ---- */

/* A reader that closes its end stops the program at once and without a message. */
TEST(reader_gone) {
    int from;
    char text[10];
    Process child = start_piped("sample -n 1000000000 -p THE~CLOCK~ @play", &from);
    for (size_t got = 0; got < sizeof text;) {
        ssize_t more = read(from, text + got, (unsigned)(sizeof text - got));
        assert_true(more > 0);
        got += (size_t)more;
    }
    close(from);
    finish(child);
    assert_memory_equal(text, "THE CLOCK ", sizeof text);
    if (system_lacks(SIGNALS)) { /* it fails to write, and says so */
        expect_exit(1, "");
        return;
    }
    assert_string_equal(ran.err, "");
    assert_true(ran.status == UNREAD || ran.status == 0 || ran.status == 1);
}

TEST(disk_full) {
    static const char *const commands[] = {"sample -n 20 @play", "sample -n 1000000000 @play",
                                           "sample --score " PLAY " @play", "sample --info @play",
                                           "train " TINY "-q -o @full " PLAY};
    skip_without(DEVICE_FILES);
    if (access("/dev/full", W_OK) != 0) skip();
    scratch_put("stdout", "", 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int out = create_file("/dev/full");
        Process child = start(commands[i], out);
        close(out);
        finish(child);
        expect_failure(1, "");
    }
}

static int set_up(void **state) {
    if (scratch_open(state) != 0) return -1;
    must_run("train " TINY "-o @play " PLAY);
    return 0;
}

FIXTURE(set_up, scratch_close)
