/* test_explain.c - the explanation of a prediction: its width, its elisions, several models,
 * errors. tests/explain recomputes its numbers. */
#include "tests/screenful.h"
#include "programs/report/explain.h"

enum { LENGTH = 30, CONTEXT = 32 };

/* The text: "好ab\n" again and again, and a Z at its end. */
static const char characters[] = "\nabZ好";

/* A model that has read the last `tokens` characters of the text, the cycle with a Z at its end;
 * until the end of the test. */
static Explained subject(const char *name, int layers, int tokens) {
    static const char *const cycle[] = {"好", "a", "b", "\n"};
    TrilOptions sizes = sized(name, layers, 2, 16, CONTEXT);
    sizes.seed = 3;
    char text[4 * LENGTH] = "";
    for (int t = LENGTH - tokens; t < LENGTH - 1; t++) strcat(text, cycle[t % 4]);
    strcat(text, "Z");
    TrilModel *model = model_of(tokenizer_of(characters), &sizes);
    shake(model);
    return (Explained){name, model, read_with(model, text, strlen(text), 1, 1)};
}

static bool explain_on(const Output *page, const Explained *models, int count, int layer,
                       int head) {
    Sheet sheet = page->sheet;
    return explain(&sheet, &(Question){models, count, layer, head}, &err);
}

/* Explains the last `tokens` characters. */
static Output page_of(const char *name, int layers, int tokens, int columns, int layer, int head) {
    const Explained explained = subject(name, layers, tokens);
    Output page = output_open(columns, false);
    assert_ok(explain_on(&page, &explained, 1, layer, head), err);
    output_end(&page);
    return page;
}

/* Counts the lines that begin with this text. */
static int count_lines(const char *text, const char *begin) {
    int count = 0;
    for (const char *line = text; *line;) {
        count += begins(line, begin);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return count;
}

/* No line is wider than the terminal. The last character is in every table and map. */
TEST(widths) {
    static const int widths[] = {20, 21, 40, 80, 133, 200, 1000};
    static const char *const rungs[] = {"bigram", "average", "head", "multihead",
                                        "gpt",    "modern",  "conv", "ngram"};
    for (size_t r = 0; r < sizeof rungs / sizeof *rungs; r++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            Output page = page_of(rungs[r], 2, LENGTH, widths[w], ANY, ANY);
            check_width(page.text, widths[w]);
            if (r > 0) { /* as many rows with the first character as with the last */
                int first = count_lines(page.text, "  好 "), last = count_lines(page.text, "  Z  ");
                assert_true(last >= 3);
                if (widths[w] >= 40) assert_true(first >= last);
                assert_true(count_lines(page.text, "Z  ") >= 1); /* the map */
            }
        }
}

/* Equally likely characters are in the order of the vocabulary. A bigram begins with zeros. */
TEST(equal) {
    static const char *const order[] = {"\n  ↵ ", "\n  Z ", "\n  a ", "\n  b ", "\n  好 "};
    const TrilOptions sizes = sized("bigram", 1, 1, 1, CONTEXT);
    TrilModel *model = model_of(tokenizer_of(characters), &sizes);
    const Explained even = {"bigram", model, read_with(model, "Z", 1, 1, 1)};
    Output page = output_open(80, false);
    assert_ok(explain_on(&page, &even, 1, ANY, ANY), err);
    output_end(&page);
    const char *at = page.text;
    for (int i = 0; i < 5; i++) assert_non_null(at = strstr(at, order[i]));
}

/* The middle of a long text is left out; a text of one character is whole. */
TEST(elision) {
    Output page = page_of("head", 1, LENGTH, 80, ANY, ANY);
    assert_non_null(strstr(page.text, " 4       2       3       0 ...       3"));
    assert_non_null(strstr(page.text, "\n  ...\n  a "));
    page = page_of("head", 1, 1, 80, ANY, ANY);
    assert_null(strstr(page.text, "\n  ...\n"));
    assert_non_null(strstr(page.text, "\n  Z    1.000\n"));
    page = page_of("head", 1, LENGTH, 1000, ANY, ANY);
    assert_null(strstr(page.text, "..."));
}

#define expect_on_page(page, ...) expect_line_of((page)->text, "", TEXTS(__VA_ARGS__))

/* The layer and head that were asked for, and maps of all heads or of one. */
TEST(choice) {
    Output page = page_of("gpt", 3, 5, 80, 1, 0);
    expect_on_page(&page, "gpt", "1", "3", "0", "2");
    assert_null(find_line(page.text, TEXTS("--layer")));
    expect_on_page(&page, "3. ", " 0 ");           /* the layer before in short, */
    expect_on_page(&page, "18. ", " 2 ");          /* and the one after */
    assert_non_null(strstr(page.text, " 0\n   ")); /* the map of that head alone */
    page = page_of("gpt", 3, 5, 80, 2, ANY);
    expect_on_page(&page, "gpt", "2", "3");
    expect_on_page(&page, "3. ", " 0 ", " 1 ");      /* both layers before in short */
    const char *maps = strstr(page.text, " 1\n   "); /* of both heads */
    double heads[2];
    while (maps[-1] != '\n') maps--;
    assert_true(numbers_of(maps, heads, 2) == 2 && heads[0] == 0 && heads[1] == 1);
    page = page_of("gpt", 3, 5, 80, ANY, ANY);
    expect_on_page(&page, "--layer");
    page = page_of("gpt", 3, 5, 80, ANY, 1); /* the layer where it moved the prediction most */
    expect_on_page(&page, "3. ", " 0 ", " 1 ");
    page = page_of("bigram", 1, 5, 80, ANY, ANY);
    assert_true(strncmp(page.text, "bigram\n", 7) == 0);
    page = page_of("average", 1, 5, 80, 0, 0);
    expect_on_page(&page, "average", "0", "1");
}

static void compare(Output *page, Explained *models, int count, int columns) {
    *page = output_open(columns, false);
    assert_ok(explain_on(page, models, count, ANY, ANY), err);
    output_end(page);
    check_width(page->text, columns);
}

/* The match in the counted text is shown whole, though its characters are wide. */
TEST(wide_match) {
    static const char text[] = "好ab\n好好好ab\n好好好ab\n好好好ab\n";
    TrilOptions options = sized("ngram", 1, 2, 16, 8);
    TrilModel *model = model_of(tokenizer_of(characters), &options);
    begin_on(model, text_of(tril_model_tokenizer(model), text, strlen(text), 0.2), &options);
    const Explained counted = {"ngram", model, read_with(model, "好好好", 9, 1, 1)};
    Output page = output_open(80, false);
    assert_ok(explain_on(&page, &counted, 1, ANY, ANY), err);
    output_end(&page);
    assert_non_null(strstr(page.text, "'好好好'"));
}

/* Side by side where they fit, else one below the other. */
TEST(several) {
    static const char *const names[] = {"bigram", "gpt", "modern"};
    Explained models[3];
    for (int i = 0; i < 3; i++) models[i] = subject(names[i], 2, LENGTH);
    Output page;
    compare(&page, models, 3, 80);
    assert_int_equal(count_lines(page.text, "  bigram"), 1);
    assert_int_equal(count_lines(page.text, "  gpt"), 0);
    assert_non_null(strstr(page.text, "gpt"));
    compare(&page, models, 3, 20);
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_lines(page.text, formatted("  %s", names[i])), 1);
    models[0].name = "a-very-long-way-to-the-bigram"; /* only the end of a name fits */
    compare(&page, models, 2, 20);
    assert_non_null(strstr(page.text, "\n  -way-to-the-bigram\n"));
}

/* ---- refusals ---- */

TEST(refusals) {
    static const struct {
        const char *rung;
        int layers, layer, head;
        const char *names;
    } cases[] = {
        {"gpt", 1, 1, ANY, "--layer 1"}, {"gpt", 2, 2, ANY, "--layer 2"},
        {"gpt", 3, 5, ANY, "--layer 5"}, {"gpt", 2, 0, 2, "--head 2"},
        {"bigram", 1, 0, ANY, "bigram"}, {"bigram", 1, ANY, 0, "bigram"},
        {"average", 1, 0, 1, "average"},
    };
    Output page = output_open(80, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Explained explained = subject(cases[i].rung, cases[i].layers, LENGTH);
        assert_false(explain_on(&page, &explained, 1, cases[i].layer, cases[i].head));
        expect_error(err, cases[i].names);
    }
    output_end(&page);
    assert_int_equal(page.length, 0);
}
