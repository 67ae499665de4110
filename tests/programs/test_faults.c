/* test_faults.c - failures of the machine: of any memory request or system call, a full disk, a
 * text that changes, a folder that disappears. Either the results are as without the failure, or
 * the program reports it in one sentence. No saved file may be lost. */
#include "tests/state.h"
#include "tests/command.h"
#include <utime.h>

#define TINY "-l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -s 40 --eval-every 20 "

/* ---- each memory request and system call ---- */

/* The files in the scratch folder "work" and below. */
typedef struct {
    struct File {
        char *name, *bytes;
        size_t length;
    } files[64];
    int count;
} Tree;

/* Files that were moved may be in the second free folder: one that cannot be looked at is taken. */
static void add_folder(Tree *tree, const char *folder) {
    DIR *directory = opendir(scratch(folder));
    for (struct dirent *entry; (entry = readdir(directory));) {
        char *name = formatted("%s/%s", folder, entry->d_name), *second = strstr(name, "out-2");
        FileStatus status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        status = filesystem_look(scratch(name), false);
        assert_true(status.kind != FILE_NONE && tree->count < 64);
        if (status.kind == FILE_FOLDER) {
            add_folder(tree, name);
            continue;
        }
        struct File *file = &tree->files[tree->count++];
        file->bytes = slurp(scratch(name), &file->length);
        file->name = name;
        if (second) second[4] = '1';
    }
    closedir(directory);
}

static Tree *tree_now(void) {
    Tree *tree = scrap(1, sizeof *tree);
    add_folder(tree, "work");
    return tree;
}

static void put_tree(const Tree *tree) {
    scratch_remove(scratch("work"));
    make_folder(scratch("work"));
    make_folder(scratch("work/texts"));
    make_folder(scratch("work/out"));
    for (int i = 0; i < tree->count; i++) { /* with one date, which `sample --info` shows */
        const char *path =
            scratch_put(tree->files[i].name, tree->files[i].bytes, tree->files[i].length);
        assert_int_equal(utime(path, &(struct utimbuf){0, 0}), 0);
    }
}

/* Returns true if the tree has a file of this name or content, or of both. */
static bool has(const Tree *tree, const char *name, const struct File *like) {
    for (const struct File *file = tree->files; file < tree->files + tree->count; file++)
        if ((!name || strcmp(file->name, name) == 0) &&
            (!like ||
             (file->length == like->length && memcmp(file->bytes, like->bytes, file->length) == 0)))
            return true;
    return false;
}

/* The results in an output, without the progress before them. */
static const char *results(const char *out) {
    const char *table = strstr(out, "\nmodel ");
    return table ? table : out;
}

/* Returns false if the other output lacks a line, except a date, which may be unknown. */
static bool has_lines(const char *other, const char *out) {
    char *lines = copy_text(out);
    for (char *line = strtok(lines, "\n"), *date; line; line = strtok(NULL, "\n")) {
        if ((date = strstr(line, ", 1970-")) || (date = strstr(line, ", unknown date"))) *date = 0;
        if (!strstr(other, line) && !begins(line, "date ")) return false;
    }
    return true;
}

/* Judges the last command, in which something may have failed. Returns the fault found, or an empty
 * text. `out` and `after_it`: its output, and the files after it, if nothing fails. */
static const char *wrong_with(const Tree *before, const char *out, const Tree *after_it) {
    const Tree *now = tree_now();
    const char *wrong = "";
    const bool whole = ran.status == 0 && strcmp(ran.out, out) == 0; /* nothing to say */
    if (ran.status == 0 && (*ran.err || !has_lines(results(out), results(ran.out)) ||
                            !has_lines(results(ran.out), results(out))))
        wrong = "other results";
    for (int i = 0; i < now->count; i++)
        if (strstr(now->files[i].name, "/.tril-"))
            wrong = formatted("%s stays", now->files[i].name);
    for (int i = 0; i < after_it->count && whole; i++) {
        const struct File *file = &after_it->files[i];
        /* a page leaves out unreadable files; the baseline's log has samples, which no line shows:
         * without memory one is short */
        const bool page = strcmp(file_name(file->name), "report.html") == 0,
                   baseline = strcmp(file_name(file->name), "bigram.csv") == 0;
        if (!page && !baseline && !has(now, file->name, file))
            wrong = formatted("%s differs", file->name);
    }
    for (int i = 0; i < before->count; i++) {
        const struct File *file = &before->files[i];
        const bool kept_whole = has(after_it, NULL, file);
        if (!has(now, kept_whole ? NULL : file->name, kept_whole ? file : NULL))
            wrong = formatted("%s is lost", file->name);
    }
    return wrong;
}

/* Runs a command of faulty/ in these files, in which this fails, as tests/faulty.c says. */
static void run_faulty(const char *command, const Tree *before, const char *variable,
                       const char *fails) {
    put_tree(before);
    setenv(variable, fails, 1);
    setenv("TRIL_FAILED", scratch_put("failed", "", 0), 1);
    run("faulty/%s", command);
    unsetenv(variable);
}

/* Runs a command once for each place that requests memory, or calls the system; once in `apart`,
 * counted through all commands, so that not all leave out the same places. There it then fails the
 * first time, and one in 64 later times if all is repeated. */
static void fail_in_turn(const char *command, const Tree *before, const char *variable, int apart) {
    run_faulty(command, before, variable, "0");
    expect_success();
    const Tree *after_it = tree_now();
    const char *out = ran.out;
    char *places = slurp(scratch("failed"), NULL);
    static int place;
    int number = 1;
    for (char *line = places, *end; (end = strchr(line, '\n')); line = end + 1, number++) {
        *end = 0;
        const bool known = strstr(places, line) != line && number % 64 >= repeats(0, 1);
        *end = '\n';
        if (known || (strstr(command, " -q ") && *line != 'd')) continue;
        if (place++ % apart != 0) continue;
        run_faulty(command, before, variable, formatted("%d", number));
        const char *wrong = wrong_with(before, out, after_it);
        if (*wrong)
            fail_msg("%s, %s %d, %.20s: %s: %s", command, variable, number, line, wrong, ran.err);
        if (ran.status != 0) expect_exit_with(1, NULL, TEXTS(" "));
    }
    assert_true(number > 10);
}

#define SHORT "-l 2 -w 8 -H 2 -c 8 -b 2 -s 4 --eval-every 2 -d 0.1 "

/* One place at a time; or all calls of a function, and then no file is lost. */
TEST(each_fault) {
    static const char *const on_resume[] = {"open", "write", "fsync", "rename", "mkdir", "fstat"};
    static const char *const commands[] = {
        "train " SHORT "-j 2 -o @work/out @work/texts/verse.txt",
        "train -r -s 6 -o @work/out @work/texts/verse.txt",
        "train -b 4 -s 5 --init @work/out/model.safetensors -o @work/a/b @work/n.txt",
        "train -q -m bigram -c 8 -b 2 -s 2 -o @work/a --val-file @work/texts/verse.txt @work/n.txt",
        "sample -n 3 --prompt-file @work/texts/verse.txt @work/out",
        "sample --score @work/texts/verse.txt @work/out",
        "sample --explain THE @work/out",
        "sample --info @work/out"};
    skip_without(FAULTY_MEMORY);
    char verse[] = "work/texts/verse.txt", rest[] = "work/n.txt", *play = slurp(ACT, NULL);
    Tree texts = {{{verse, play, 400}, {rest, play + 400, 60}}, 2};
    memcpy(play + 420, "+ 0123456789", 12); /* characters that the model lacks */
    put_tree(&texts);
    must_run("train " SHORT "-q -o @work/out @work/texts/verse.txt");
    const Tree *trained = tree_now();
    for (int i = 0; i < COUNT(commands); i++) {
        if (!strstr(commands[i], " -q ")) /* or it cannot say that a sample of the log ends early */
            fail_in_turn(commands[i], trained, "TRIL_FAIL_REQUEST",
                         SANITIZED ? 183 : repeats(61, 13));
        if (FAULTY_SYSTEM) fail_in_turn(commands[i], trained, "TRIL_FAIL_CALL", 1);
        for (int j = 0; j < COUNT(on_resume) && FAULTY_SYSTEM && *commands[i] == 't'; j++) {
            run_faulty(commands[i], trained, "TRIL_FAIL_CALL", on_resume[j]);
            if (ran.status != 0) expect_exit_with(1, NULL, TEXTS(" "));
            const Tree *now = tree_now();
            for (const struct File *f = trained->files; f < trained->files + trained->count; f++)
                if (!has(now, NULL, f) && !has(now, f->name, NULL))
                    fail_msg("%s, no %s: %s is lost", commands[i], on_resume[j], f->name);
        }
    }
}

/* The figures of --copied are whole, or an error is shown; its requests are the last. */
TEST(copied) {
    enum { LAST = 20 };
    const Tree none = {.count = 0};
    int count = 0;
    skip_without(FAULTY_MEMORY);
    must_run("train " SHORT "-q -o @copied " ACT);
    run_faulty("sample -n 5 --copied " ACT " @copied", &none, "TRIL_FAIL_REQUEST", "0");
    const char *whole = ran.err;
    for (const char *c = slurp(scratch("failed"), NULL); *c; c++) count += *c == '\n';
    assert_true(ran.status == 0 && *whole && count > LAST);
    for (int i = count - LAST; i <= count; i++) {
        run_faulty("sample -n 5 --copied " ACT " @copied", &none, "TRIL_FAIL_REQUEST",
                   formatted("%d", i));
        if (ran.status != 0)
            expect_exit_with(1, NULL, TEXTS(" "));
        else if (strcmp(ran.err, whole) != 0)
            fail_msg("request %d: %s", i, ran.err);
    }
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
    char *text = slurp(ACT, &length);
    scratch_put("moving.txt", text, length);
    run_meanwhile("train " TINY "-s 200 -m gpt -o @moved @moving.txt", spoil_text);
    expect_success();
    assert_false(scratch_has("moving.txt"));
    must_run("train " TINY "-s 200 -m gpt -o @still " ACT);
    expect_same_model("moved/model.safetensors", "still/model.safetensors");
}

/* A model that cannot be written is tried again at the next evaluation, and a folder that is gone
 * is made again. Here a file takes its place for some time. */
TEST(tried_again) {
    static const char *const wanted[] = {" * ", " not saved", " * "}; /* in turn */
    char line[512];
    int from, stage = 0;
    skip_without(OPEN_REMOVAL);
    Process child = start_piped(
        "train -m bigram -c 16 -b 4 -j 1 --eval-every 20 -s 100000 -e 0 --patience 1 -o @tried " ACT,
        &from);
    FILE *out = fdopen(from, "r"), *file = NULL;
    while (fgets(line, sizeof line, out)) {
        if (stage == 3 || !strstr(line, wanted[stage])) continue;
        for (int i = 0; stage == 0 && !(file = fopen(scratch("tried"), "wx")); i++)
            rename(scratch("tried"), scratch(formatted("away%d", i))); /* it may be made again */
        if (stage == 0) fclose(file);
        if (stage == 1) assert_int_equal(remove(scratch("tried")), 0);
        if (stage == 2) send_signal(child, SIGINT);
        stage++;
    }
    fclose(out);
    assert_int_equal(end_of_process(child), 0);
    assert_int_equal(stage, 3);
    state_number("tried/model.safetensors", "step");
    state_number("tried/state.safetensors", "step");
    assert_true(scratch_has("tried/report.html"));
}

TEST(disk_full) {
    static const char *const commands[] = {"sample -n 20 @play", "sample -n 1000000000 @play",
                                           "sample --score " ACT " @play", "sample --info @play",
                                           "train " TINY "-q -o @full " ACT};
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

SET_UP {
    must_run("train " TINY "-o @play " ACT);
}
