/* test_options.c - the command line: every kind of option in every spelling, errors with their
 * messages. (tests/screens has --help.) */
#include "tests/scratch.h"
#include "base/options.h"

enum { WORDS_MAX = 16, TEXT = 512 };

typedef struct {
    int number, width;
    uint64_t seed;
    double rate, time;
    const char *out;
    bool quiet, version;
} Values;

static const Values defaults = {
    .number = 7, .width = 64, .seed = 1337, .rate = 0.5, .out = "default", .quiet = false};

static Values values;

static const Option options[] = {
    {.kind = OPTION_SECTION, .help = "Numbers"},
    {'n', "number", OPTION_INT, &values.number, -10, 100, "N", "how many"},
    {0, "width", OPTION_INT, &values.width, -2147483648.0, 2147483647.0, "N", "how wide"},
    {'s', "seed", OPTION_SEED, &values.seed, 0, 0, "N", "any"},
    {'r', "learning-rate", OPTION_REAL, &values.rate, 0.25, 1e308, "X", "how fast"},
    {'t', "time", OPTION_TIME, &values.time, 1, 7200, "TIME", "how long"},
    {.kind = OPTION_SECTION, .help = "Others"},
    {'o', "out", OPTION_TEXT, &values.out, 0, 0, "FILE", "where to"},
    {'q', "quiet", OPTION_FLAG, &values.quiet, 0, 0, NULL, "say little"},
    {0, "version", OPTION_FLAG, &values.version, 0, 0, NULL, "print the version"},
};
enum { COUNT = sizeof options / sizeof *options };

static char words[TEXT]; /* argv points into it */
static char *argv[WORDS_MAX + 2];
static uint64_t given;
static int argc, first;
/* Parses a command line whose arguments are separated by bars, after adding the program's name. */
static bool parse(const char *line) {
    assert_true(strlen(line) < sizeof words - 6);
    snprintf(words, sizeof words, "tril|%s", line);
    argc = 0;
    for (char *word = words; word; argc++) {
        assert_true(argc <= WORDS_MAX);
        argv[argc] = word;
        word = strchr(word, '|');
        if (word) *word++ = 0;
    }
    argv[argc] = NULL;
    values = defaults;
    err.text[0] = 0;
    first = -1;
    return options_parse(options, COUNT, argc, argv, &first, &given, &err);
}

static void accept(const char *line) {
    if (!parse(line)) fail_msg("%s: %s", line, err.text);
    assert_in_range(first, 1, argc);
}

/* The message must contain `text`, and the option must keep its value. */
static void refuse(const char *line, const char *text) {
    if (parse(line)) fail_msg("%s is taken", line);
    expect_message(err.text, sizeof err.text, NULL, TEXTS(text));
    assert_int_equal(values.number, defaults.number);
    assert_int_equal(values.width, defaults.width);
    assert_true(values.rate >= defaults.rate && values.rate <= defaults.rate);
    assert_string_equal(values.out, defaults.out);
}

TEST(spellings) {
    static const char *const lines[] = {"-n5",      "-n|5", "--number=5",   "--number|5", "--num=5",
                                        "--n|5",    "-qn5", "-qn|5",        "-n|9|-n5",   "a|-n5|b",
                                        "-n5|--|a", "-n+5", "-n5|--width|3"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        accept(lines[i]);
        if (values.number != 5) fail_msg("%s: %d", lines[i], values.number);
    }
}

/* Every kind, from the least to the most. Options that the command line does not name keep their
 * defaults. */
TEST(kinds) {
    static const struct {
        const char *line;
        Values values;
    } cases[] = {{"operand", {7, 64, 1337, 0.5, 0, "default", false, false}},
                 {"--number=-10|-s18446744073709551615|-r|2.5e3|-o|a file=x|-q",
                  {-10, 64, UINT64_MAX, 2500, 0, "a file=x", true, false}},
                 {"-n|100|--width=-2147483648|--seed=0|--learning-rate=.25|--out=|--vers",
                  {100, INT32_MIN, 0, 0.25, 0, "", false, true}},
                 {"--width|2147483647|-o-|-n-3|--learn|1e308",
                  {-3, INT32_MAX, 1337, 1e308, 0, "-", false, false}},
                 {"--time=90", {7, 64, 1337, 0.5, 90, "default", false, false}},
                 {"--time=90s", {7, 64, 1337, 0.5, 90, "default", false, false}},
                 {"--time=1.5m", {7, 64, 1337, 0.5, 90, "default", false, false}},
                 {"--time=2h", {7, 64, 1337, 0.5, 7200, "default", false, false}},
                 {"--time=0.25h", {7, 64, 1337, 0.5, 900, "default", false, false}},
                 {"--time=1", {7, 64, 1337, 0.5, 1, "default", false, false}},
                 {"--time=5.", {7, 64, 1337, 0.5, 5, "default", false, false}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Values *v = &cases[i].values;
        accept(cases[i].line);
        if (values.number != v->number || values.width != v->width || values.seed != v->seed ||
            values.rate != v->rate || fabs(values.time - v->time) > 1e-9 ||
            strcmp(values.out, v->out) != 0 || values.quiet != v->quiet ||
            values.version != v->version)
            fail_msg("%s", cases[i].line);
    }
    argc = 1;
    argv[1] = NULL;
    assert_true(options_parse(options, COUNT, argc, argv, &first, &given, &err));
    assert_int_equal(first, 1);
}

static void expect_operands(const char *line, const char *const expected[], int count) {
    accept(line);
    assert_int_equal(argc - first, count);
    for (int i = 0; i < count; i++) assert_string_equal(argv[first + i], expected[i]);
}

TEST(operands) {
    expect_operands("a|-n|5|b|--quiet|c", (const char *const[]){"a", "b", "c"}, 3);
    assert_true(values.quiet && values.number == 5);
    expect_operands("-q|--|-n|--what|--", (const char *const[]){"-n", "--what", "--"}, 3);
    assert_true(values.quiet && values.number == defaults.number);
    expect_operands("a|--|-q", (const char *const[]){"a", "-q"}, 2);
    assert_false(values.quiet);
    expect_operands("-|-q|", (const char *const[]){"-", ""}, 2);
    assert_true(values.quiet);
    expect_operands("-o|--|a", (const char *const[]){"a"}, 1);
    assert_string_equal(values.out, "--");
    expect_operands("a|--number|5|-s|6|b", (const char *const[]){"a", "b"}, 2);
    expect_operands("-n5", NULL, 0);
}

/* A number must be a whole argument, fit its type and be in range. The message gives the range. The
 * wrong ones have bars between them. */
TEST(bad_numbers) {
    static const struct {
        const char *option, *least, *most, *bad;
    } cases[] = {
        {"number", "-10", "100",
         "12x||x|1.5|1e1|0x1F|-11|101|4294967301|nan|5 | 5|+|99999999999999999999"},
        {"width", "-2147483648", "2147483647",
         "2147483648|-2147483649|4294967296|-99999999999999999999"},
        {"seed", "0", "18446744073709551615", "12x||-1| 1|+1|1.5|18446744073709551616|1e3|x|0x1F"},
        {"learning-rate", "0.25", "1e+308",
         "12x||1e400|-1e400|nan|-nan|inf|0.2499|-1|1e|1,5|.| 0.5|0x1p-1"},
        {"time", "1", "7200", "5x||s|5.5.|5..|5.m.|5ms|5 m|-5m|1e3|nan|0.5s|2.1h|7201|5M"}};
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const char *option = cases[i].option, *rest = cases[i].bad;
        const char *subject = ""; /* compares the wording of the first one */
        for (const char *bad; (bad = next_part(&rest)); subject = NULL) {
            const char *message = formatted("--%s: '%s' ", option, bad);
            refuse(formatted("--%s=%s", option, bad), message);
            expect_message(err.text, sizeof err.text, subject,
                           TEXTS(cases[i].least, cases[i].most));
            refuse(formatted("--%s|%s|-q", option, bad), message);
        }
    }
    refuse("-n12x", "--number: '12x'");
    refuse("-q|-s-1", "--seed: '-1'");
}

/* A value is read to its end, however long it is. */
TEST(long_number) {
    char line[TEXT - 8];
    int length = snprintf(line, sizeof line, "--learning-rate=1.5%0400d", 0);
    accept(line);
    assert_near(values.rate, 1.5, 0);
    line[length - 1] = 'x';
    refuse(line, "000x' ");
}

/* Wrong lines, and the words that the message must contain. */
TEST(refused) {
    static const char *const lines[][2] = {
        {"-n", "--number"},
        {"--number", "--number"},
        {"--num", "--number"},
        {"a|b|--out", "--out"},
        {"-qn", "--number"},
        {"--quite", "'--quite'"},
        {"--numbre=5", "'--numbre'"},
        {"--learning_rate|1", "'--learning_rate'"},
        {"--sandwiches", "'--sandwiches'"},
        {"-x", "'-x'"},
        {"a|-qx|b", "'-x'"},
        {"--numberrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr=1",
         "'--numberrrrrrrr"},
        {"--quiet=yes", "--quiet"},
        {"--caf\xC3\xA9", "'--caf\xC3\xA9'"},
        {"-q|-\xC3\xA9|a", "ASCII"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        refuse(lines[i][0], lines[i][1]);
        expect_error(err, lines[i][1]);
    }
    accept("-n|5"); /* an error inside a word of letters does not affect the next line */
    assert_int_equal(values.number, 5);
    assert_false(values.quiet);
}

/* --nu is ambiguous. */
TEST(ambiguous) {
    static bool flag, exact;
    static const Option alike[] = {
        {0, "number", OPTION_FLAG, &flag, 0, 0, NULL, ""},
        {0, "nutrient", OPTION_FLAG, &flag, 0, 0, NULL, ""},
        {0, "no", OPTION_FLAG, &exact, 0, 0, NULL, ""},
        {0, "noise", OPTION_FLAG, &flag, 0, 0, NULL, ""},
    };
    char program[] = "tril", word[] = "--nu", *line[] = {program, word, NULL};
    assert_false(options_parse(alike, 4, 2, line, &first, &given, &err));
    expect_error(err, "'--nu'");
    word[3] = 'o'; /* --no is complete, although --noise begins with it */
    assert_ok(options_parse(alike, 4, 2, line, &first, &given, &err), err);
    assert_true(exact && !flag);
}
