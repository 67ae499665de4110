/* test_figures.c - text, charts and maps in HTML. */
#include "tests/objects.h"
#include "extras/page/figure.h"

static FILE *page; /* of the figure that is tested */

/* Ends the page, and returns its text. */
static char *page_text(void) {
    size_t length;
    return stream_text(page, &length);
}

static void expect_markup(const char *text, const char *expected) {
    page = tmpfile();
    markup(page, "%s", text);
    assert_string_equal(page_text(), expected);
}

TEST(markup) {
    expect_markup("<script>alert('1 & \"2\"')</script>",
                  "&#60;script&#62;alert(&#39;1 &#38; &#34;2&#34;&#39;)&#60;/script&#62;");
    expect_markup("--> ]]> &amp; \n\t好\xCC\x81\xD9\x85",
                  "--&#62; ]]&#62; &#38;amp; \n\t好\xCC\x81\xD9\x85");
    expect_markup("\001\033[31m\177\xC2\x85\xE2\x80\xAE\xEF\xBB\xBF\xEF\xBF\xBF", "��[31m�����");
    expect_markup("a\xC3(\xFF\xE2\x82", "a�(���");
    page = tmpfile();
    markup(page, "%d%% %zu %.2f %.*g <%.*s>", -3, (size_t)7, 0.125, 3, 2.0 / 3, 2, "<\"x");
    assert_string_equal(page_text(), "-3% 7 0.12 0.667 <&#60;&#34;>");
}

/* The matrix maps the points into the frame. The SVG keeps the data as given. */
TEST(chart) {
    const Point first[] = {{1, 4.25}, {250, 1.456207}, {1000, 2}}, one[] = {{500, 3}};
    const Curve curves[] = {{"a<b", first, 3, 0, false}, {"thin", one, 1, 0, true}};
    const Level levels[] = {{"level", 4.5}};
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
                         .height = 300,
                         .decimals = 2,
                         .names = true};
    page = tmpfile();
    figure_chart(page, &chart);
    const char *text = page_text();
    assert_non_null(strstr(text, " points=\"1,4.25 250,1.456207 1000,2\"/>"));
    assert_non_null(strstr(text, " points=\"500,3\"/>"));
    assert_non_null(strstr(text, "data-name=\"a&#60;b\""));
    assert_non_null(strstr(text, "<title>&#34;title&#34;</title>"));
    assert_non_null(strstr(text, ">a&#60;b</text>"));
    assert_null(strstr(text, ">thin</text>"));
    /* the legend: the last value of each curve */
    assert_non_null(strstr(text, "<td data-name=\"a&#60;b\">2.00</td>"
                                 "<td data-name=\"thin\">3.00</td></tr>\n"));
    assert_non_null(strstr(text, "level</th><td>4.50</td><td></td></tr>\n"));
    /* the matrix puts the points into the frame */
    double a, d, f, x, y;
    const char *matrix = strstr(text, "matrix(");
    assert_int_equal(sscanf(matrix, "matrix(%lf 0 0 %lf 0 %lf)", &a, &d, &f), 3);
    assert_true(a > 0 && d < 0);
    for (int i = 0; i < 3; i++) {
        x = a * first[i].x, y = d * first[i].y + f;
        assert_true(x > 0 && x <= 1000 && y > 0 && y < 300);
    }
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
    page = tmpfile();
    figure_chart(page, &chart);
    const char *text = page_text();
    assert_true(!strstr(text, "nan") && !strstr(text, "inf"));
}

/* No points, and points as far apart or as close together as allowed. */
TEST(extreme_charts) {
    static const Point points[][2] = {
        {{0, -1e15}, {1e15, 1e15}}, {{0, 0}, {0, 5e-324}}, {{1, 1e15}, {2, 1e15}}};
    check_places(NULL, 0);
    for (int i = 0; i < 3; i++) check_places(points[i], 2);
}

TEST(map) {
    enum { T = 3 };
    static const float weights[T * T] = {1, 0, 0, 0.5f, 0.5f, 0, 0.01f, NAN, 2};
    static const Glyph glyphs[T] = {{"<", 1}, {"好", 2}, {"c", 1}};
    page = tmpfile();
    figure_map(page, &(HeadMap){2, 1, weights}, T, glyphs);
    const char *text = page_text();
    /* neighbors with weight one half share a line; below a 32nd, or NaN, nothing is drawn */
    assert_non_null(strstr(text, "<path stroke-opacity=\"0.688\" d=\"M0 1h2\"/>"));
    assert_non_null(strstr(text, "<path stroke-opacity=\"1\" d=\"M0 0h1M2 2h1\"/>"));
    assert_non_null(strstr(text, " data-weights=\"1000;500,500;10,0,1000\">"));
    assert_non_null(strstr(text, ">&#60;</text>"));
    assert_non_null(strstr(text, "id=\"map-2-1\""));
    double numbers[2];
    assert_int_equal(numbers_of(strstr(text, "<title>"), numbers, 2), 2);
    assert_true(numbers[0] == 2 && numbers[1] == 1);
}
