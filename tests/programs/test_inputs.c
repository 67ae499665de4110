/* test_inputs.c - unusual inputs of the programs: several files, standard input, files that are not
 * regular, texts in other encodings, states of other kernels, small stacks. */
#include "tests/command.h"
#include "tests/state.h"
#include "model/kernels/isa.h"

#define TINY "-l 1 -w 16 -H 2 -c 16 -b 4 -j 1 --eval-every 20 "

static void resume(const char *kernels, int steps, const char *words) {
    setenv("KERNELS", kernels, 1);
    must_run("train -r -s %d %s-o @k " ACT, steps, words);
}

/* Resuming with the same kernels prints nothing, with others one line, with -q nothing. */
TEST(other_kernels) {
    static const char path[] = "k/state.safetensors";
    const Isa *tables[ISA_MAX];
    if (isa_available(tables) < 2) skip();
    const char *base = tables[0]->name, *other = tables[1]->name;
    const char *before = set_variable("KERNELS", base);
    must_run("train " TINY "-q -s 20 -o @k " ACT);
    resume(base, 30, "");
    assert_null(has_line(other));
    resume(other, 40, "");
    expect_line(base, other);
    resume(base, 50, "");
    expect_line(other, base);
    resume(other, 60, "-q ");
    assert_null(has_line(other));
    static const char *const bad[] = {"\33[2J", "avx2 ", "sixteen0letters0"};
    for (int i = 0; i < COUNT(bad); i++) {
        state_edit(path, path, "kernels", bad[i], 1);
        must_fail(1, "train -r -q -s 70 -o @k " ACT, "state.safetensors", "'kernels'");
    }
    set_variable("KERNELS", before);
}

/* A device, which may be endless, is an error for all readers; so is a folder. */
TEST(devices) {
    static const char *const devices[] = {"/dev/null", "/dev/full", "/dev/zero"};
    static const char *const commands[] = {
        "train -q -s 2 -o @dev %s",
        "train -q -s 2 --bytes -o @dev %s",
        "train -q -s 2 -o @dev --init %s data/sample.txt",
        "sample %s",
        "sample --info %s",
        "sample --score %s @there/model.safetensors",
    };
    must_run("train " TINY "-q -s 2 -o @there " ACT);
    for (int i = 0; i < COUNT(devices); i++) {
        if (system_lacks(DEVICE_FILES) || access(devices[i], R_OK) != 0) continue;
        for (int j = 0; j < COUNT(commands); j++)
            must_fail(1, formatted(commands[j], devices[i]), devices[i]);
    }
    if (!system_lacks(FILE_RIGHTS)) set_rights(scratch_put("locked", "locked", 6), 0);
    for (int j = 0; j < COUNT(commands) && !system_lacks(FILE_RIGHTS); j++)
        must_fail(1, formatted(commands[j], "@locked"), "locked: ", strerror(EACCES));
    must_fail(1, formatted(commands[0], "@there"), "there: ", "there/*.txt");
    must_fail(1, formatted(commands[5], "@there"), "there: ");
    assert_false(scratch_has("dev"));
}

/* Runs a command on the file through a pipe. The output is the same as for the file. */
static void run_poured(const char *from, const char *format) {
    Process child = write_pipe(scratch("pipe"), from);
    must_run(format, "@pipe");
    assert_int_equal(end_of_process(child), 0);
}

/* A text and a checkpoint may be pipes, as from <(...) in a shell. */
TEST(pipes) {
    skip_without(NAMED_PIPES);
    make_named_pipe(scratch("pipe"));
    must_run("train " TINY "-q -s 2 -o @plain " ACT);
    run_poured(ACT, "train " TINY "-q -s 2 -o @poured %s");
    expect_same_model("plain/model.safetensors", "poured/model.safetensors");
    must_run("sample --score " ACT " @plain/model.safetensors");
    keep();
    run_poured(ACT, "sample --score %s @plain/model.safetensors");
    assert_string_equal(ran.out, kept);
    run_poured(scratch("plain/model.safetensors"), "sample --score " ACT " %s");
    assert_string_equal(ran.out, kept);
}

/* A byte order mark and CR do not change the model, but --bytes reads them. Only the ends of lines
 * are mentioned. (test_data has the characters, test_library who reads them.) */
TEST(line_ends) {
    char *play = slurp(ACT, NULL), *other = scrap(2 * strlen(play) + 4, 1), *to = other;
    to += sprintf(to, "\xEF\xBB\xBF");
    for (const char *from = play; *from; from++)
        to += sprintf(to, "%s%c", *from == '\n' ? "\r" : "", *from);
    for (int i = 0; i < 2; i++) {
        scratch_put("text", i ? other : play, strlen(i ? other : play));
        must_run("train " TINY "-s 20 -o @ends%d @text " ACT, i);
        assert_int_equal(has_line("line ends") != NULL, i);
        expect_same_model("ends0/model.safetensors", formatted("ends%d/model.safetensors", i));
    }
    must_run("train " TINY "-s 2 --bytes -o @bytes @text");
    expect_line("66 distinct"); /* the play's 62, CR and the mark */
    assert_null(has_line("line ends"));
    scratch_put("mark", "\xEF\xBB\xBF", 3);
    must_fail(1, "train -q -o @none @mark", "mark: ", "empty");
}

#define PAIRS   "-q -m bigram -c 16 -b 4 -j 1 "
#define LETTERS "@letters/more/a @letters/b"

/* The digest that a training run of the bigram with this command prints. */
static char *trained(const char *command) {
    must_run("%s --profile", command);
    char *digest = copy_text(after(" bigram: "));
    digest[16] = 0;
    return digest;
}

/* Writes two texts in the folder `letters`: 900 characters and 100, of two and of one byte. */
static void write_letters(void) {
    char text[2000];
    make_folder(scratch("letters"));
    make_folder(scratch("letters/more"));
    const bool links = make_symbolic_link("../../xyz", scratch("letters/more/a"));
    for (int i = 0; i < 100; i++) text[i] = "xyz"[i % 3];
    scratch_put(links ? "xyz" : "letters/more/a", text, 100); /* its number is before that of b */
    for (int i = 0; i < 2000; i += 2) memcpy(text + i, i % 14 ? "é" : "ü", 2);
    make_hard_link(scratch_put("letters/b", text, 1800), scratch("letters/more/b"));
}

/* The text of several files begins with the first nine tenths of each. Their order on the command
 * line does not count, and a state knows them again. */
TEST(several_files) {
    write_letters();
    char *b = slurp(scratch("letters/b"), NULL), *a = slurp(scratch("letters/more/a"), NULL);
    const char *joined = formatted("%.1620s\n%.90s\n%s\n%s", b, a, b + 1620, a + 90);
    scratch_put("joined", joined, strlen(joined));
    const char *one = trained("train " PAIRS "-s 20 -o @one @joined");
    assert_string_equal(trained("train " PAIRS "-s 20 -o @many " LETTERS), one);
    assert_string_equal(
        trained("train " PAIRS
                "-s 20 -o @three @letters/more/a @letters/b @letters/more/b @letters/b"),
        one);
    one = trained("train -q -r -s 30 -o @one @joined");
    assert_string_equal(trained("train -q -r -s 30 -o @many @letters/b @letters/more/a"), one);
    must_fail(1, "train -q -r -s 40 -o @many @letters/b", "letters/b: ", "--resume");
    must_run("train -r -s 30 -j 1 -o @many " LETTERS); /* names its files */
    expect_line("letters/b");
    expect_line("letters/more/a");
    char *page = slurp(scratch("many/report.html"), NULL);
    if (access("extras/page", F_OK) == 0) {
        assert_non_null(strstr(page, "letters/b\""));
        assert_non_null(strstr(page, "letters/more/a\""));
    }
    /* bytes are joined without newlines, and any file is one */
    scratch_put("any", "\r\n\0\xFF", 4);
    must_run("train -m bigram -c 16 -b 4 -j 1 --bytes -s 1 -o @bytes @any " LETTERS);
    expect_line("1,904");
}

/* The command that resumes a resumed run has all of its arguments, however many. */
TEST(long_command) {
    skip_without(SIGNALS);
    const char *name = formatted("%0100d", 7), *words = "";
    scratch_random(name, 2000, 5, 2);
    for (int i = 0; i < 40; i++) words = formatted("%s @%s", words, name);
    must_run("train " PAIRS "-s 5 -o @cut%s", words);
    must_run_clocked(0.01, " 2@1", "train -r -s 1000 -o @cut%s", words);
    const char *end = strchr(after("To resume: "), '\n');
    assert_memory_equal(end - strlen(name), name, strlen(name));
}

/* --val-file holds out a file, as --val does the end of a text. Only the same one resumes.
 * (test_data has several files beside it.) */
TEST(val_file) {
    char *play = slurp(ACT, NULL);
    const size_t length = strlen(play), end = length - 2000;
    scratch_put("begin", play, end - 1); /* and a newline */
    play[end - 1] = '\n';
    scratch_put("whole", play, length);
    scratch_put("end", play + end, length - end);
    scratch_put("longer", play + end - 100, length - end + 100);
    scratch_put("shorter", play, end - 101);
    must_run("train -m bigram -c 16 -b 4 -j 1 -s 20 -o @split --val-file @end @begin");
    expect_line("begin and ", "end: ", "2,000 held out");
    expect_line("--resume --steps 80 ", "--val-file ", "/end ");
    must_run("sample --score @end @split");
    assert_near(strtod(after("nats_per_char "), NULL),
                state_number("split/model.safetensors", "validation_loss"), 1e-5);
    const char *split = trained("train -q -r -s 30 -o @split --val-file @end @begin");
    const double share = state_number("split/state.safetensors", "option.val");
    must_run("train " PAIRS "-s 20 --val %.17g -o @one @whole", share);
    assert_string_equal(trained("train -q -r -s 30 -o @one @whole"), split);
    must_fail(1, "train -q -r -s 40 -o @split @begin", "/begin: ", "--val-file ");
    must_fail(1, "train -q -r -s 40 -o @split --val-file @whole @begin", "begin and ", "/end");
    play[end - 101] = '\n'; /* the same characters, divided elsewhere */
    scratch_put("elsewhere", play, length);
    must_run("train " PAIRS "-s 20 -o @split --val-file @longer @shorter");
    must_run("train -q -r --val %.17g -s 21 -o @split @elsewhere",
             state_number("split/state.safetensors", "option.val"));
    scratch_put("begin", play, end - 1);
    must_fail(1, "train -q -r -s 40 -o @split --val-file @end @begin", "begin and ", "--resume");
    must_run("train " PAIRS "-s 20 --continue -o @split --val-file @end @begin");
    assert_true(scratch_has("split-2"));
}

/* "-" is standard input, for both programs. */
TEST(standard_input) {
    const char *file = trained("train " PAIRS "-s 20 -o @file " ACT);
    must_run("sample --score " ACT " @file");
    keep();
    command_input = ACT;
    assert_string_equal(trained("train " PAIRS "-s 20 -o @input -"), file);
    must_run("sample --score - @file");
    assert_string_equal(ran.out, kept);
    command_input = copy_text(scratch_put("latin1", "caf\xE9", 4));
    must_fail(1, "sample --score - @file", "0xE9");
    command_input = NULL;
    must_fail(1, "train -q -o @other -", "");
}

/* Passages that are in both parts are mentioned from a tenth of the held-out part on, when a run
 * begins. */
TEST(copies) {
    size_t length;
    char *play = slurp(ACT, &length);
    const size_t tenth = length / 10;
    for (int copied = 0; copied <= 1; copied++) {
        memcpy(play + length - tenth, play + tenth, tenth * (size_t)copied / 5);
        scratch_put("text", play, length);
        must_run("train " TINY "-s 2 -o @copies @text");
        if (copied) expect_line("20%", "50");
        if (!copied) assert_null(has_line("passages"));
    }
    must_run("train -r -s 4 -j 1 -o @copies @text");
    assert_null(has_line("passages"));
}

/* Writes a script that runs the program with 64 KiB of stack for each thread. The environment is
 * small, because it is on the stack. */
static void write_narrow(const char *program, const char *programs) {
    const char *text = formatted("#!/bin/sh\nulimit -s 64 || exit 9\n"
                                 "exec env -i KERNELS=\"$KERNELS\" '%s/%s' \"$@\"\n",
                                 programs, program);
    set_rights(scratch_put(formatted("narrow/%s", program), text, strlen(text)), 0700);
}

/* Runs all features with 64 KiB of stack; systems give 8 MiB. Not under the sanitizers, whose stack
 * frames are several times as large. */
TEST(small_stack) {
    static const char *const commands[] = {
        "train " TINY "-j 2 -q --ladder -s 40 -o @thin " ACT,
        "train " TINY "-j 2 --ladder -r -s 60 -o @thin " ACT,
        "train " TINY "-m gpt -d 0.1 -l 2 -s 40 -o @thin-gpt " ACT,
        "train -t 5 -j 2 -o @timed " ACT,
        "sample -n 40 @thin",
        "sample --precision f32 -n 40 @thin-gpt",
        "sample --score " ACT " @thin",
        "sample --explain Whether @thin",
        "sample --explain Whether --layer 1 --head 1 @thin-gpt",
        "sample --info @thin",
        "train -q -b 4 -s 5 -j 2 --init @thin -o @thin-next " ACT,
    };
    if (SANITIZED) skip();
    skip_without(SHELL_TOOLS);
    make_folder(scratch("narrow"));
    write_narrow("train", programs_folder());
    write_narrow("sample", programs_folder());
    const char *kept_kernels = set_variable("KERNELS", NULL);
    const char *kept_programs = set_variable("TRIL_PROGRAMS", scratch("narrow"));
    const Isa *tables[ISA_MAX];
    int count = isa_available(tables);
    for (int i = 0; i < repeats(1, count + 1); i++) { /* first with the machine's own choice */
        if (i > 0)
            setenv("KERNELS", tables[i - 1]->name, 1);
        else
            unsetenv("KERNELS");
        for (int j = 0; j < COUNT(commands); j++) must_run("%s", commands[j]);
        scratch_remove(scratch("thin"));
        scratch_remove(scratch("thin-gpt"));
        scratch_remove(scratch("thin-next"));
        scratch_remove(scratch("timed"));
    }
    set_variable("TRIL_PROGRAMS", kept_programs);
    set_variable("KERNELS", kept_kernels);
}
