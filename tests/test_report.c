/* test_report.c - displays of a model: glyphs, maps, charts, attention explained. */
#include "tests/support.h"
#include "base/escape.h"
#include "report/chart.h"
#include "report/heat.h"
#include "report/map.h"
#include "report/markup.h"
#include "report/spark.h"
#include "report/explain.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Output to a stream in memory. */
typedef struct {
    char *text; /* owned */
    size_t length;
    Screen screen;
} Page;

static Page page_open(int columns, bool colour) {
    Page page = {0};
    page.screen = (Screen){.columns = columns, .colour = colour};
    return page;
}

static void page_begin(Page *page) {
    page->screen.out = open_memstream(&page->text, &page->length);
    assert_non_null(page->screen.out);
}

static void page_end(Page *page) {
    assert_int_equal(fclose(page->screen.out), 0);
}

/* Counts the columns of a line: one for each character, two for wide ones, none for accents and
 * colour codes. */
static int columns_of(const char *line, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code;
        int bytes = utf8_decode(line + i, length - i, &code);
        assert_true(bytes > 0);
        if (code == '\033') {
            i += strcspn(line + i, "m") + 1;
            continue;
        }
        assert_true(code >= 0x20 && code != 0x7F);
        columns += code == 0x301 ? 0 : code >= 0x4E00 && code < 0xA000 ? 2 : 1;
        i += (size_t)bytes;
    }
    return columns;
}

static void check_width(const char *text, int max) {
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        int columns = columns_of(line, length);
        if (columns > max) fail_msg("%d columns: %.*s", columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static Vocab vocab_of(const char *text) {
    Vocab vocab;
    Error err;
    assert_ok(vocab_build(&vocab, "test", text, strlen(text), false, &err), err);
    return vocab;
}

/* ---- glyphs ---- */

static void test_glyphs(void **state) {
    (void)state;
    static const char *const expected[][2] = {
        {"\n", "↵ "},     {"\t", "⇥ "},     {" ", "␣ "},      {"a", "a "},
        {"\033", "· "},   {"\x7F", "· "},   {"好", "好"},     {"\u0301", "◌\u0301 "},
        {"\u3000", "␣ "}, {"\u202E", "· "}, {"\u061C", "· "}, {"\U000E0041", "· "}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char glyph[GLYPH_SIZE];
        Vocab vocab = vocab_of(expected[i][0]);
        glyph_padded(&vocab, 0, glyph);
        assert_string_equal(glyph, expected[i][1]);
        vocab_free(&vocab);
    }
    Vocab bytes;
    Error err;
    char glyph[GLYPH_SIZE];
    assert_ok(vocab_build(&bytes, "test", "", 0, true, &err), err);
    glyph_padded(&bytes, 'a', glyph);
    assert_string_equal(glyph, "a ");
    glyph_padded(&bytes, 0xA0, glyph); /* half a character, not a space */
    assert_string_equal(glyph, "· ");
    glyph_padded(&bytes, 200, glyph);
    assert_string_equal(glyph, "· ");
    vocab_free(&bytes);
}

/* No control characters remain. */
static void test_safe_glyphs(void **state) {
    (void)state;
    for (uint32_t code = 1; code < 0x2100; code += code < 0x600 || code >= 0x2000 ? 1 : 7) {
        char text[UTF8_MAX + 1] = "", shown[ESCAPE_SIZE], glyph[GLYPH_SIZE];
        size_t length = (size_t)utf8_encode(code, text);
        Vocab vocab = vocab_of(text);
        glyph_of(&vocab, 0, glyph);
        vocab_free(&vocab);
        escape_first(text, length, shown);
        if (strcmp(shown, text) != 0 && code != '\n' && code != '\t')
            assert_string_equal(glyph, "·");
        for (size_t i = 0, taken; glyph[i]; i += taken) {
            taken = escape_first(glyph + i, strlen(glyph + i), shown);
            assert_memory_equal(glyph + i, shown, taken);
        }
    }
}

/* On a line spaces stay spaces. Glyphs that do not fit are dropped. */
static void test_line(void **state) {
    (void)state;
    Vocab vocab = vocab_of("\n a好");
    const int32_t ids[] = {2, 1, 3, 0, 3, 2};
    char text[64];
    glyph_line(&vocab, ids, 6, 64, text, sizeof text);
    assert_string_equal(text, "a 好↵好a");
    glyph_line(&vocab, ids, 6, 6, text, sizeof text); /* of columns */
    assert_string_equal(text, "a 好↵");
    glyph_line(&vocab, ids, 6, 64, text, 9); /* of bytes */
    assert_string_equal(text, "a 好↵");
    glyph_line(&vocab, ids, 0, 64, text, sizeof text);
    assert_string_equal(text, "");
    vocab_free(&vocab);
}

/* ---- the curve of a loss ---- */

static void test_spark(void **state) {
    (void)state;
    Spark spark = {0};
    char text[SPARK_SIZE];
    spark_text(&spark, text);
    assert_string_equal(text, "");
    for (int i = 8; i > 0; i--) spark_add(&spark, i);
    spark_text(&spark, text);
    assert_string_equal(text, "█▇▆▅▄▃▂▁");
    spark = (Spark){0};
    spark_add(&spark, 3);
    spark_add(&spark, 3);
    spark_text(&spark, text);
    assert_string_equal(text, "▁▁");
    /* Each column stays the mean of its values, which fall by one each. */
    spark = (Spark){0};
    for (int i = 0; i < 1000; i++) spark_add(&spark, -i);
    assert_in_range(spark.count, SPARK_COLUMNS / 2, SPARK_COLUMNS);
    for (int i = 0; i < spark.count; i++) {
        int first = i * spark.each, last = i + 1 < spark.count ? first + spark.each - 1 : 999;
        int values = last - first + 1;
        assert_near(spark.sums[i] / values, -(first + last) / 2.0, 1e-9);
    }
    assert_int_equal((spark.count - 1) * spark.each + spark.in_last, 1000);
    spark_text(&spark, text);
    assert_int_equal(strlen(text), 3 * spark.count);
    assert_memory_equal(text, "█", 3);
    assert_string_equal(text + strlen(text) - 3, "▁");
}

/* ---- pictures ---- */

static void expect_markup(const char *text, const char *expected) {
    Page page = page_open(80, false);
    page_begin(&page);
    markup_text(page.screen.out, text);
    page_end(&page);
    assert_string_equal(page.text, expected);
    free(page.text);
}

static void test_markup(void **state) {
    (void)state;
    expect_markup("<script>alert('1 & \"2\"')</script>",
                  "&#60;script&#62;alert(&#39;1 &#38; &#34;2&#34;&#39;)&#60;/script&#62;");
    expect_markup("--> ]]> &amp; \n\t好\xCC\x81\xD9\x85",
                  "--&#62; ]]&#62; &#38;amp; \n\t好\xCC\x81\xD9\x85");
    expect_markup("\001\033[31m\177\xC2\x85\xE2\x80\xAE\xEF\xBB\xBF\xEF\xBF\xBF", "��[31m�����");
    expect_markup("a\xC3(\xFF\xE2\x82", "a�(���");
}

/* The matrix maps the points into the frame. The SVG keeps the data as given. */
static void test_chart(void **state) {
    (void)state;
    const Point first[] = {{1, 4.25}, {250, 1.456207}, {1000, 2}}, one[] = {{500, 3}};
    const Curve curves[] = {{"a<b", first, 3, 0, false}, {"thin", one, 1, 7, true}};
    const Level levels[] = {{"level", 4.5}};
    const Chart chart = {.id = "c",
                         .title = "\"title\"",
                         .x_name = "steps",
                         .curves = curves,
                         .curve_count = 2,
                         .levels = levels,
                         .level_count = 1,
                         .width = 600,
                         .height = 300};
    Page page = page_open(80, false);
    page_begin(&page);
    chart_draw(page.screen.out, &chart);
    page_end(&page);
    assert_non_null(strstr(page.text, " points=\"1,4.25 250,1.456207 1000,2\"/>"));
    assert_non_null(strstr(page.text, " points=\"500,3\"/>"));
    assert_non_null(strstr(page.text, "data-name=\"a&#60;b\""));
    assert_non_null(strstr(page.text, "<title>&#34;title&#34;</title>"));
    assert_non_null(strstr(page.text, ">a&#60;b</text>"));
    assert_null(strstr(page.text, ">thin</text>"));
    double a, d, e, f;
    const char *matrix = strstr(page.text, "matrix(");
    assert_int_equal(sscanf(matrix, "matrix(%lf 0 0 %lf %lf %lf)", &a, &d, &e, &f), 4);
    assert_true(a > 0 && d < 0);
    for (int i = 0; i < 3; i++) {
        double x = a * first[i].x + e, y = d * first[i].y + f;
        assert_true(x > 0 && x < 600 && y > 0 && y < 300);
    }
    free(page.text);
}

/* Any points have coordinates. */
static void check_places(const Point *points, int count) {
    const Curve curve = {.name = "c", .points = points, .count = count};
    const Chart chart = {.id = "c",
                         .title = "",
                         .x_name = "",
                         .curves = &curve,
                         .curve_count = 1,
                         .width = 300,
                         .height = 200};
    Page page = page_open(80, false);
    page_begin(&page);
    chart_draw(page.screen.out, &chart);
    page_end(&page);
    assert_true(!strstr(page.text, "nan") && !strstr(page.text, "inf"));
    free(page.text);
}

/* No points, and points as far apart or as close together as allowed. */
static void test_extreme_charts(void **state) {
    (void)state;
    static const Point points[][2] = {
        {{0, -1e15}, {1e15, 1e15}}, {{0, 0}, {0, 5e-324}}, {{1, 1e15}, {2, 1e15}}};
    check_places(NULL, 0);
    for (int i = 0; i < 3; i++) check_places(points[i], 2);
}

static void test_map(void **state) {
    (void)state;
    enum { T = 3 };
    static const float weights[T * T] = {1, 0, 0, 0.5f, 0.5f, 0, 0.01f, NAN, 2};
    static const char glyphs[T][GLYPH_SIZE] = {"<", "好", "c"};
    Page page = page_open(80, false);
    page_begin(&page);
    map_draw(page.screen.out, "m", "a \"map\"", weights, T, glyphs);
    page_end(&page);
    /* neighbours with weight one half share a rectangle; below a sixteenth, or NaN, nothing is
     * drawn */
    assert_non_null(strstr(page.text, "<path d=\"M0 1h2v1H0z\" fill-opacity=\"0.5\"/>"));
    assert_non_null(strstr(page.text, "<path d=\"M0 0h1v1H0zM2 2h1v1H2z\" fill-opacity=\"1\"/>"));
    assert_non_null(strstr(page.text, ">&#60;</text>"));
    assert_non_null(strstr(page.text, "<title>a &#34;map&#34;</title>"));
    free(page.text);
}

/* The width without a window, and colour without a terminal. */
static void test_screen(void **state) {
    (void)state;
    FILE *file = tmpfile();
    setenv("COLUMNS", "132", 1);
    Screen screen = screen_of(file);
    assert_true(screen.columns == 132 && !screen.colour && screen.out == file);
    setenv("COLUMNS", "-5", 1);
    assert_int_equal(screen_of(file).columns, 20);
    unsetenv("COLUMNS");
    assert_int_equal(screen_of(file).columns, 80);
    fclose(file);
}

/* ---- maps ---- */

static void test_heat(void **state) {
    (void)state;
    enum { T = 3 };
    static const float weights[2][T * T] = {{1, 0, 0, 0.96f, 0.04f, 0, 0.3f, 0.44f, 0.26f},
                                            {1, 0, 0, 0.5f, 0.5f, 0, 0.06f, 0.1f, 0.84f}};
    static const char glyphs[T][GLYPH_SIZE] = {"a ", "好", "c "};
    const HeatMap maps[] = {{"one", weights[0]}, {"two", weights[1]}};
    Page page = page_open(80, false);
    page_begin(&page);
    heat_draw(&page.screen, maps, 2, T, glyphs);
    page_end(&page);
    assert_string_equal(page.text, "one        two\n"
                                   "   a 好c      a 好c \n"
                                   "a  9       a  9     \n"
                                   "好 9 .     好 5 5   \n"
                                   "c  3 4 3   c  1 1 8 \n"
                                   "(in tenths: . is less than 0.05, 9 is 0.85 or more)\n");
    free(page.text);
    page = page_open(12, true); /* one below the other, in colour; the lightest is the most */
    page_begin(&page);
    heat_draw(&page.screen, maps, 2, T, glyphs);
    page_end(&page);
    assert_non_null(strstr(page.text, "\n\ntwo\n"));
    assert_non_null(strstr(page.text, "a  \033[48;5;230m  \033[0m    \n"));
    assert_null(strstr(page.text, "tenths"));
    check_width(page.text, 12);
    free(page.text);
    page = page_open(7, false); /* too narrow for all tokens */
    page_begin(&page);
    heat_draw(&page.screen, maps, 1, T, glyphs);
    page_end(&page);
    assert_non_null(strstr(page.text, "\n好 9 . \n(the first 2 of 3 characters"));
    free(page.text);
}

/* ---- attention explained ---- */

enum { TOKENS = 5 };

/* Explains attention in a model with random weights on "ab\n好b". */
static Page explain(const char *name, int layer, int head) {
    Vocab vocab = vocab_of("a\nb好");
    Config config = {.V = vocab.size, .T = 8, .L = 2, .NH = 2, .C = 8};
    snprintf(config.model, sizeof config.model, "%s", name);
    Bench *bench = bench_open(&config, 1, 1, 3);
    const int32_t ids[TOKENS] = {1, 2, 0, 3, 2};
    Error err;
    bench_shake(bench);
    Page page = page_open(80, false);
    page_begin(&page);
    assert_ok(
        explain_attention(&page.screen, &bench->model, &vocab, ids, TOKENS, layer, head, &err),
        err);
    page_end(&page);
    bench_close(bench);
    vocab_free(&vocab);
    check_width(page.text, 80);
    return page;
}

/* Reads row t, from 0, of the first table after `title`. Returns the number of values. */
static int read_row(const char *text, const char *title, int t, double numbers[8]) {
    static const char *const glyphs[TOKENS] = {"a ", "b ", "↵ ", "好", "b "};
    const char *at = strstr(text, title);
    assert_non_null(at);
    for (int i = 0; i <= t; i++) {
        char begin[32];
        snprintf(begin, sizeof begin, "\n  %s ", glyphs[i]);
        at = strstr(at, begin);
        assert_non_null(at);
        at += strlen(begin);
    }
    int count = 0;
    for (int taken; count < 8 && sscanf(at, "%lf%n", &numbers[count], &taken) == 1; at += taken) {
        count++;
        if (at[taken] == '\n') break;
    }
    return count;
}

/* Each step follows from the printed numbers of the one before. */
static void check_steps(const char *name, int layer, int head) {
    Page page = explain(name, layer, head);
    double q[8], key[8], score[8], scaled[8], weight[8], value[8], context[8];
    int size = read_row(page.text, "   query\n", 3, q);
    for (int s = 0; s < TOKENS; s++) {
        assert_int_equal(read_row(page.text, "   key\n", s, key), size);
        double dot = 0;
        for (int i = 0; i < size; i++) dot += q[i] * key[i];
        assert_int_equal(read_row(page.text, "\n3. Scores", 3, score), TOKENS);
        assert_near(dot, score[s], 0.02);
    }
    assert_int_equal(read_row(page.text, "\n4. Scaled", 3, scaled), TOKENS);
    assert_int_equal(read_row(page.text, "\n6. Softmax", 3, weight), TOKENS);
    double sum = 0, heard = 0;
    for (int s = 0; s <= 3; s++) sum += exp(scaled[s]);
    for (int s = 0; s < TOKENS; s++) {
        assert_near(scaled[s], score[s] / sqrt(size), 0.01);
        assert_near(weight[s], s > 3 ? 0 : exp(scaled[s]) / sum, 0.002);
        read_row(page.text, "   value\n", s, value);
        heard += weight[s] * value[0];
    }
    read_row(page.text, "\n7. Context", 3, context);
    assert_near(context[0], heard, 0.01);
    assert_non_null(strstr(page.text, " -inf"));
    free(page.text);
}

static void test_explain(void **state) {
    (void)state;
    check_steps("head", 0, ALL_HEADS);
    check_steps("multihead", 0, 1);
    check_steps("gpt", 1, 0);
    check_steps("modern", 1, 1);
}

/* All heads as maps, or the requested one. */
static void test_explain_heads(void **state) {
    (void)state;
    Page page = explain("gpt", 0, ALL_HEADS);
    assert_non_null(strstr(page.text, "gpt, layer 0 of 2, head 0 of 2\n"));
    assert_non_null(strstr(page.text, "\nhead 0         head 1\n"));
    free(page.text);
    page = explain("gpt", 0, 1);
    assert_non_null(strstr(page.text, "gpt, layer 0 of 2, head 1 of 2\n"));
    assert_non_null(strstr(page.text, "\n\nhead 1\n"));
    free(page.text);
}

/* Without queries the triangle is uniform. Without attention the output lists followers only. */
static void test_explain_below(void **state) {
    (void)state;
    double numbers[8];
    Page page = explain("average", 0, ALL_HEADS);
    assert_null(strstr(page.text, "query"));
    assert_int_equal(read_row(page.text, "\n6. Softmax", 2, numbers), TOKENS);
    for (int s = 0; s < TOKENS; s++) assert_near(numbers[s], s > 2 ? 0 : 1.0 / 3, 0.001);
    free(page.text);
    page = explain("bigram", 0, ALL_HEADS);
    assert_non_null(strstr(page.text, "What follows each character"));
    double before = 100, sum = 0;
    const char *at = strstr(page.text, "\n  b ") + 5;
    for (int i = 0; i < 4; i++) { /* all four characters, likeliest first */
        at = strchr(at, '.') - 2;
        double share = strtod(at, NULL);
        assert_true(share <= before);
        before = share;
        sum += share;
        at = strchr(at, '%');
    }
    assert_near(sum, 100, 0.3);
    free(page.text);
}

static void test_refusals(void **state) {
    (void)state;
    Vocab vocab = vocab_of("a\nb好");
    Config config = {.model = "gpt", .V = vocab.size, .T = 8, .L = 2, .NH = 2, .C = 8};
    Bench *bench = bench_open(&config, 1, 1, 3);
    const int32_t id = 1;
    Error err;
    Page page = page_open(80, false);
    page_begin(&page);
    assert_false(
        explain_attention(&page.screen, &bench->model, &vocab, &id, 1, 2, ALL_HEADS, &err));
    assert_non_null(strstr(err.text, "--layer 2: the model has 2"));
    assert_false(explain_attention(&page.screen, &bench->model, &vocab, &id, 1, 0, 2, &err));
    assert_non_null(strstr(err.text, "--head 2: the model has 2"));
    page_end(&page);
    assert_int_equal(page.length, 0);
    free(page.text);
    bench_close(bench);
    vocab_free(&vocab);
}

int main(void) {
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),           cmocka_unit_test(test_spark),
        cmocka_unit_test(test_markup),         cmocka_unit_test(test_chart),
        cmocka_unit_test(test_extreme_charts), cmocka_unit_test(test_map),
        cmocka_unit_test(test_glyphs),         cmocka_unit_test(test_safe_glyphs),
        cmocka_unit_test(test_screen),         cmocka_unit_test(test_heat),
        cmocka_unit_test(test_explain),        cmocka_unit_test(test_explain_heads),
        cmocka_unit_test(test_explain_below),  cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
