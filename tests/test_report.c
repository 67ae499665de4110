/* test_report.c - displays of a model: glyphs, maps, charts. */
#include "tests/screenful.h"
#include "base/escape.h"
#include "programs/page/figure.h"
#include "programs/train/course.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- glyphs ---- */

static void test_glyphs(void **state) {
    (void)state;
    static const char *const expected[][2] = {
        {"\n", "↵ "},     {"\t", "⇥ "},     {" ", "␣ "},      {"a", "a "},
        {"\033", "· "},   {"\x7F", "· "},   {"好", "好"},     {"\u0301", "◌\u0301 "},
        {"\u3000", "␣ "}, {"\u202E", "· "}, {"\u061C", "· "}, {"\U000E0041", "· "}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        TrilTokenizer *tokenizer = tokenizer_of(expected[i][0]);
        assert_string_equal(glyph_padded(tokenizer, 0).text, expected[i][1]);
        tril_tokenizer_free(tokenizer);
    }
    TrilTokenizer *bytes;
    assert_int_equal(tril_tokenizer_of_bytes(&bytes, NULL), TRIL_OK);
    assert_string_equal(glyph_padded(bytes, 'a').text, "a ");
    assert_string_equal(glyph_padded(bytes, 0xA0).text, "· "); /* half a character, not a space */
    assert_string_equal(glyph_padded(bytes, 200).text, "· ");
    tril_tokenizer_free(bytes);
}

/* No control characters remain. */
static void test_safe_glyphs(void **state) {
    (void)state;
    for (uint32_t code = 1; code < 0x2100; code += code < 0x600 || code >= 0x2000 ? 1 : 7) {
        char text[UTF8_MAX + 1] = "", shown[ESCAPE_SIZE];
        size_t length = (size_t)utf8_encode(code, text);
        TrilTokenizer *tokenizer = tokenizer_of(text);
        const Glyph glyph = glyph_of(tokenizer, 0);
        tril_tokenizer_free(tokenizer);
        escape_first(text, length, shown);
        if (strcmp(shown, text) != 0 && code != '\n' && code != '\t')
            assert_string_equal(glyph.text, "·");
        for (const char *at = glyph.text; *at;) {
            size_t taken = escape_first(at, strlen(at), shown);
            assert_memory_equal(at, shown, taken);
            at += taken;
        }
    }
}

/* On a line spaces stay spaces. Glyphs that do not fit are dropped. */
static void test_line(void **state) {
    (void)state;
    TrilTokenizer *tokenizer = tokenizer_of("\n a好");
    const int32_t ids[] = {2, 1, 3, 0, 3, 2};
    char text[64];
    glyph_line(tokenizer, ids, 6, 64, text, sizeof text);
    assert_string_equal(text, "a 好↵好a");
    glyph_line(tokenizer, ids, 6, 6, text, sizeof text); /* of columns */
    assert_string_equal(text, "a 好↵");
    glyph_line(tokenizer, ids, 6, 64, text, 9); /* of bytes */
    assert_string_equal(text, "a 好↵");
    glyph_line(tokenizer, ids, 0, 64, text, sizeof text);
    assert_string_equal(text, "");
    tril_tokenizer_free(tokenizer);
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
    assert_string_equal(text, "███▇▅▄▂▁"); /* scaled to the last six */
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
    /* the fall of the first steps does not make the rest flat: of 16 columns it takes one */
    spark = (Spark){0};
    for (int i = 0; i < 16; i++) spark_add(&spark, i == 0 ? 8 : 2.5 - 0.05 * i);
    spark_text(&spark, text);
    assert_string_equal(text, "██████▇▆▆▅▄▃▃▂▁▁");
}

/* ---- pictures ---- */

static void expect_markup(const char *text, const char *expected) {
    Output page = output_open(80, false);
    output_begin(&page);
    markup(page.sheet.out, "%s", text);
    output_end(&page);
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
    Output page = output_open(80, false);
    output_begin(&page);
    markup(page.sheet.out, "%d%% %zu %.2f %.*g <%.*s>", -3, (size_t)7, 0.125, 3, 2.0 / 3, 2,
           "<\"x");
    output_end(&page);
    assert_string_equal(page.text, "-3% 7 0.12 0.667 <&#60;&#34;>");
    free(page.text);
}

/* The matrix maps the points into the frame. The SVG keeps the data as given. */
static void test_chart(void **state) {
    (void)state;
    const Point first[] = {{1, 4.25}, {250, 1.456207}, {1000, 2}}, one[] = {{500, 3}};
    const Curve curves[] = {{"a<b", first, 3, 0, false}, {"thin", one, 1, 0, true}};
    const Level levels[] = {{"level", 4.5}};
    const Mark marks[] = {{{250, 1.456207}, "<mark>", 0}};
    const Chart chart = {.id = "c",
                         .title = "\"title\"",
                         .x_name = "steps",
                         .x_place = "step #",
                         .strong = "strong",
                         .faint = "faint",
                         .curves = curves,
                         .curve_count = 2,
                         .levels = levels,
                         .level_count = 1,
                         .marks = marks,
                         .mark_count = 1,
                         .height = 300,
                         .decimals = 2,
                         .names = true};
    Output page = output_open(80, false);
    output_begin(&page);
    figure_chart(page.sheet.out, &chart);
    output_end(&page);
    assert_non_null(strstr(page.text, " points=\"1,4.25 250,1.456207 1000,2\"/>"));
    assert_non_null(strstr(page.text, " points=\"500,3\"/>"));
    assert_non_null(strstr(page.text, "data-name=\"a&#60;b\""));
    assert_non_null(strstr(page.text, "<title>&#34;title&#34;</title>"));
    assert_non_null(strstr(page.text, ">a&#60;b</text>"));
    assert_null(strstr(page.text, ">thin</text>"));
    /* the legend: the last value of each curve */
    assert_non_null(strstr(page.text, "<td data-name=\"a&#60;b\">2.00</td>"
                                      "<td data-name=\"thin\">3.00</td></tr>\n"));
    assert_non_null(strstr(page.text, "level</th><td>4.50</td><td></td></tr>\n"));
    /* a quarter from the left, and where the matrix puts the point */
    double a, d, f, x, y;
    const char *matrix = strstr(page.text, "matrix(");
    assert_int_equal(sscanf(matrix, "matrix(%lf 0 0 %lf 0 %lf)", &a, &d, &f), 3);
    assert_true(a > 0 && d < 0);
    for (int i = 0; i < 3; i++) {
        x = a * first[i].x, y = d * first[i].y + f;
        assert_true(x > 0 && x <= 1000 && y > 0 && y < 300);
    }
    const char *mark = strstr(page.text, "class=\"mark\"");
    assert_int_equal(sscanf(mark, "class=\"mark\" x=\"%lf%%", &x), 1);
    assert_near(x, 25, 1e-6);
    assert_int_equal(sscanf(strstr(mark, "cy="), "cy=\"%lf", &y), 1);
    assert_near(y, d * first[1].y + f, 0.1);
    assert_non_null(strstr(mark, ">&#60;mark&#62;</text>"));
    free(page.text);
}

/* Any points have coordinates. */
static void check_places(const Point *points, int count) {
    const Curve curve = {.name = "c", .points = points, .count = count};
    const Chart chart = {.id = "c",
                         .title = "",
                         .x_name = "",
                         .x_place = "",
                         .curves = &curve,
                         .curve_count = 1,
                         .height = 200};
    Output page = output_open(80, false);
    output_begin(&page);
    figure_chart(page.sheet.out, &chart);
    output_end(&page);
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
    static const Glyph glyphs[T] = {{"<", 1}, {"好", 2}, {"c", 1}};
    Output page = output_open(80, false);
    output_begin(&page);
    figure_map(page.sheet.out, "map", &(HeadMap){2, 1, weights}, T, glyphs);
    output_end(&page);
    /* neighbours with weight one half share a line; below a 32nd, or NaN, nothing is drawn */
    assert_non_null(strstr(page.text, "<path stroke-opacity=\"0.5\" d=\"M0 1h2\"/>"));
    assert_non_null(strstr(page.text, "<path stroke-opacity=\"1\" d=\"M0 0h1M2 2h1\"/>"));
    assert_non_null(strstr(page.text, " data-weights=\"1000;500,500;10,0,1000\">"));
    assert_non_null(strstr(page.text, ">&#60;</text>"));
    assert_non_null(strstr(page.text, "id=\"map-2-1\""));
    assert_non_null(strstr(page.text, "<title>layer 2, head 1</title>"));
    free(page.text);
}

/* The width without a window, and colour without a terminal. */
static void test_screen(void **state) {
    (void)state;
    FILE *file = tmpfile();
    setenv("COLUMNS", "132", 1);
    Sheet screen = screen_of(file);
    assert_true(screen.columns == 132 && !screen.colour && screen.out == file);
    setenv("COLUMNS", "-5", 1);
    assert_int_equal(screen_of(file).columns, 20);
    unsetenv("COLUMNS");
    assert_int_equal(screen_of(file).columns, 80);
    fclose(file);
}

/* ---- maps ---- */

static Output draw_maps(int columns, bool colour, const HeadMap *maps, int count, int T,
                        const Glyph *glyphs) {
    Output page = output_open(columns, colour);
    output_begin(&page);
    page.sheet.T = T;
    page.sheet.glyphs = glyphs;
    page.sheet.kind->maps(&page.sheet, maps, count);
    output_end(&page);
    return page;
}

static void test_maps(void **state) {
    (void)state;
    enum { T = 3 };
    static const float weights[2][T * T] = {{1, 0, 0, 0.96f, 0.04f, 0, 0.3f, 0.44f, 0.26f},
                                            {1, 0, 0, 0.5f, 0.5f, 0, 0.06f, 0.1f, 0.84f}};
    static const Glyph glyphs[T] = {{"a ", 1}, {"好", 2}, {"c ", 1}};
    const HeadMap maps[] = {{0, 7, weights[0]}, {0, -1, weights[1]}};
    Output page = draw_maps(80, false, maps, 2, T, glyphs);
    assert_string_equal(page.text, "\nhead 7     mean\n"
                                   "   a 好c      a 好c \n"
                                   "a  9       a  9     \n"
                                   "好 9 .     好 5 5   \n"
                                   "c  3 4 3   c  1 1 8 \n"
                                   "  (in tenths: . is less than 0.05, 9 is 0.85 or more)\n");
    free(page.text);
    /* one below the other, in colour; the lightest is the most */
    page = draw_maps(12, true, maps, 2, T, glyphs);
    assert_non_null(strstr(page.text, "\n\nmean\n"));
    assert_non_null(strstr(page.text, "a  \033[48;5;230m  \033[0m    \n"));
    check_width(page.text, 12);
    free(page.text);
    /* too narrow for all tokens: the last one stays */
    page = draw_maps(7, false, maps, 1, T, glyphs);
    assert_non_null(strstr(page.text, "\nhead 7\n   ..c \n..\nc  ..3 \n  (1 of\n  3\n"));
    free(page.text);
}

int main(void) {
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),           cmocka_unit_test(test_spark),
        cmocka_unit_test(test_markup),         cmocka_unit_test(test_chart),
        cmocka_unit_test(test_extreme_charts), cmocka_unit_test(test_map),
        cmocka_unit_test(test_glyphs),         cmocka_unit_test(test_safe_glyphs),
        cmocka_unit_test(test_screen),         cmocka_unit_test(test_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
