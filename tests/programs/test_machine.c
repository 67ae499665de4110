/* test_machine.c - the programs among others: texts from standard input and several files,
 * and scores of several models. */
#include "tests/command.h"

#define TINY "-q -m bigram -c 16 -b 4 -j 1 "

#define LETTERS "@letters/more/a @letters/b"

/* The digest that a training run with this command prints. */
static char *trained(const char *command) {
    must_run("%s", command);
    char *digest = copy_text(after(" bigram: "));
    digest[16] = 0;
    return digest;
}

/* ---- texts ---- */

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
    const char *one = trained("train " TINY "-s 20 -o @one @joined");
    assert_string_equal(trained("train " TINY "-s 20 -o @many " LETTERS), one);
    assert_string_equal(
        trained("train " TINY
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
        assert_non_null(strstr(page, "letters/b<"));
        assert_non_null(strstr(page, "letters/more/a<"));
    }
    /* bytes are joined without newlines, and any file is one */
    must_run("train -m bigram -c 16 -b 4 -j 1 --bytes -s 1 -o @bytes " LETTERS);
    expect_line("1,900");
}

/* "-" is standard input, for both programs. */
TEST(standard_input) {
    const char *file = trained("train " TINY "-s 20 -o @file " ACT);
    must_run("sample --score " ACT " @file");
    keep();
    command_input = ACT;
    assert_string_equal(trained("train " TINY "-s 20 -o @input -"), file);
    must_run("sample --score - @file");
    assert_string_equal(ran.out, kept);
    command_input = copy_text(scratch_put("latin1", "caf\xE9", 4));
    must_fail(1, "sample --score - @file", "0xE9");
    command_input = NULL;
    must_fail(1, "train -q -o @other -", "");
}
