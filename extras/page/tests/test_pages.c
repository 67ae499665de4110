/* test_pages.c - the page of a training run, from outside. */
#include "tests/support.h"
#include "tests/command.h"
#include "base/file.h"
#include "base/memory.h"

/* Sizes that train at once. The last of repeated options counts. */
#define SMALL_SIZES "-m gpt -l 1 -w 8 -H 2 -c 16 -b 4 -j 1 "
#define TINY        "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -s 40 --eval-every 20 "
#define PAIRS       "-m bigram -c 16 -b 4 -j 1 -s 40 --eval-every 20 "

#define train(...) must_run("train " TINY __VA_ARGS__)

static size_t occurrences(const char *text, const char *what) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) count++;
    return count;
}

/* Counts the points of the curve on the page whose name begins like this. */
static size_t points_of(const char *page, const char *curve) {
    char begin[128];
    snprintf(begin, sizeof begin, "<polyline data-name=\"%s", curve);
    const char *at = strstr(page, begin);
    assert_non_null(at);
    at = strstr(at, "points=\"") + strlen("points=\"");
    size_t count = 0;
    for (; *at != '"'; at++) count += *at == ',';
    return count;
}

/* The page of a resumed training has the steps before, too. The test in a browser compares values.
 */
TEST(page) {
    train("-o @page " ACT);
    must_run("train -r -s 60 -q -o @page " ACT);
    char *page = slurp(scratch("page/report.html"), NULL);
    assert_int_equal(points_of(page, "gpt\""), 3);
    assert_int_equal(points_of(page, "gpt, "), 60);
    assert_int_equal(occurrences(page, "<figure class=\"mapped\""), 2);
}

/* Returns true if the page exists and has this text. */
static bool page_says(const char *path, const char *text) {
    if (!scratch_has(path)) return false;
    size_t length;
    char *page;
    assert_ok(file_read(scratch(path), &page, &length, &err), err);
    bool says = strstr(page, text) != NULL;
    assert_true(strstr(page, "</html>\n") == page + length - strlen("</html>\n"));
    memory_free(page);
    return says;
}

/* While a training runs, its page exists, is whole at any moment, and says that the training runs.
 * A kill leaves it unchanged; a later run completes it. */
TEST(live_page) {
    int out = create_file(scratch("stdout"));
    Process child = start("train " PAIRS "-s 1000000 -q -o @live " ACT, out);
    while (!page_says("live/report.html", "<div id=\"live\" data-every=\"") ||
           page_says("live/report.html", "data-version=\"1\"")) /* before the first step */
        assert_true(is_running(child));
    kill_process(child);
    close(out);
    finish(child);
    assert_true(page_says("live/report.html", "<div id=\"live\""));
    must_run("train " TINY "-q -o @live " ACT);
    assert_false(page_says("live/report.html", "<div id=\"live\""));
    assert_true(page_says("live/report.html", "<div class=\"writings\">"));
}

/* After many evaluations the page shows some lines, including the last. */
TEST(many_lines) {
    train("-s 100 --eval-every 1 -o @lines " ACT);
    char *page = slurp(scratch("lines/report.html"), NULL);
    assert_in_range(occurrences(page, "<td class=\"text\">"), 30, 40);
    assert_non_null(strstr(page, "<tr><th scope=\"row\">100</th>"));
}

/* The page of a failed training shows the error and the curve until then, and no longer says that
 * the training runs. */
TEST(failed_page) {
    run("train -q " TINY "-m conv --lr 6 -s 200 -o @gone " ACT);
    assert_int_equal(ran.status, 1);
    char *page = slurp(scratch("gone/report.html"), NULL);
    expect_line_of(page, ran.command, TEXTS("id=\"failure\"", "conv"));
    assert_null(strstr(page, "<div id=\"live\""));
    assert_true(points_of(page, "conv, ") > 0);
}

/* An arrow marks a rung whose loss was still falling, as in the table of ./train. */
TEST(arrows) {
    must_run("train -q " TINY "--ladder -s 300 --eval-every 30 -o @ladder " ACT);
    char *page = slurp(scratch("ladder/report.html"), NULL), row[64];
    for (int i = 0; i < 7; i++) { /* ngram begins where counting ends */
        snprintf(row, sizeof row, "<th scope=\"row\">%s \u2193</th>", model_name(i));
        if (!strstr(page, row)) fail_msg("no arrow at %s", model_name(i));
    }
    assert_non_null(strstr(page, "<th scope=\"row\">counted bigram</th>"));
    expect_line_of(page, ran.command, TEXTS("\u2193: "));
}

/* Reads two numbers, from the one at `place` on, of the status of a page that a killed training
 * left behind, and the share that is done. */
static void read_status(const char *path, int place, double *one, double *other, double *share) {
    enum { MOST = 5 };
    double numbers[MOST]; /* model, models, step, and seconds or steps */
    char *page = slurp(path, NULL);
    const char *live = strstr(page, "data-version=");
    assert_true(live && numbers_of(strchr(live, '>'), numbers, MOST) == MOST);
    expect_line_of(page, "status", TEXTS("data-version=", "gpt"));
    *one = numbers[place];
    *other = numbers[place + 1];
    assert_int_equal(sscanf(strstr(live, " value="), " value=\"%lf\"", share), 1);
}

/* The page counts the time before a run was resumed, but not a baseline that is left out. */
TEST(page_status) {
    enum { BY_STEPS = 2, BY_TIME = 3 };
    double before, done, all, share;
    run_clocked(0.01, " 9@70", "train -q " SMALL_SIZES "-e 0 --patience 1 -t 100 -o @status " ACT);
    read_status(scratch("status/report.html"), BY_TIME, &before, &all, &share);
    assert_true(before > 50 && before < 70 && all == 100);
    assert_near(share, before / all, 0.006);
    run_clocked(0.01, " 9@25", "train -r -q -o @status " ACT);
    read_status(scratch("status/report.html"), BY_TIME, &done, &all, &share);
    assert_true(done > before + 10 && done < before + 27);
    assert_near(share, done / all, 0.006);
    run_clocked(0.01, " 9@9",
                "train -q -b 4 -j 1 -s 3000 --eval-every 50 --init @status -o @one " ACT);
    read_status(scratch("one/report.html"), BY_STEPS, &done, &all, &share);
    assert_true(done >= 50 && done < 500);
    assert_near(share, done / all, 0.0006);
    scratch_remove(scratch("status"));
    scratch_remove(scratch("one"));
}
