/* test_pages.c - the page of a training run, from outside. */
#include "tests/support.h"
#include "tests/command.h"
#include "base/file.h"
#include "base/memory.h"
#include "extras/page/tests/json.h"

/* Sizes that train at once. The last of repeated options counts. */
#define SMALL_SIZES "-m gpt -l 1 -w 8 -H 2 -c 16 -b 4 -j 1 "
#define TINY        "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -s 40 --eval-every 20 "
#define PAIRS       "-m bigram -c 16 -b 4 -j 1 -s 40 --eval-every 20 "

#define train(...) must_run("train " TINY __VA_ARGS__)

/* Returns the facts on the page, a JSON object that nothing in it can end. */
static const char *facts(const char *path) {
    static const char begin[] = "<script type=\"application/json\" id=\"data\">\n";
    char *page = slurp(scratch(path), NULL);
    const char *at = strstr(page, begin);
    assert_non_null(at);
    at += strlen(begin);
    const char *end = json_end(at);
    assert_true(strncmp(end, "\n</script>", 10) == 0 || strncmp(end, "</script>", 9) == 0);
    assert_true(strcspn(at, "<>&") == (size_t)(end - at) + (*end == '\n'));
    return at;
}

static const char *member(const char *object, const char *key) {
    const char *value = json_member(object, key);
    if (!value) fail_msg("no %s", key);
    return value;
}

/* Returns the facts about a model. */
static const char *model_on(const char *path, const char *name) {
    const char *at = member(facts(path), "models");
    while (*at != ']') {
        const char *model = at + 1, *is = member(model, "name");
        at = json_end(model);
        if (strncmp(is + 1, name, strlen(name)) == 0 && is[1 + strlen(name)] == '"') return model;
    }
    fail_msg("%s is not on the page", name);
    return NULL;
}

/* Returns the number of values of an array. */
static int length_of(const char *array) {
    int count = 0;
    for (const char *at = array; *at != ']' && at[1] != ']'; at = json_end(at + 1)) count++;
    return count;
}

/* Fails the test unless the arrays of a model have the numbers of a column of its log at `place`,
 * in the rows that have one. */
static void expect_column(const char *model, const char *key, int place, const char *log,
                          int column) {
    const char *at = member(model, key);
    for (const char *line = slurp(scratch(log), NULL); (line = strchr(line, '\n')) && line[1];) {
        const char *cell = ++line;
        for (int i = 0; i < column; i++) cell = strchr(cell, ',') + 1;
        if (*cell == ',') continue;
        assert_true(*at != ']');
        const char *number = at + 2; /* in an array in an array */
        for (int i = 0; i < place; i++) number = json_end(number) + 1;
        assert_near(strtod(number, NULL), strtod(cell, NULL), 1e-6 * fabs(strtod(cell, NULL)));
        at = json_end(at + 1);
    }
    assert_int_equal(*at, ']');
}

/* The page of a resumed training has the steps before, too, with the numbers of the log. */
TEST(page) {
    train("-o @page " ACT);
    must_run("train -r -s 60 -q -o @page " ACT);
    const char *gpt = model_on("page/report.html", "gpt");
    assert_int_equal(length_of(member(gpt, "rows")), 60);
    assert_int_equal(length_of(member(gpt, "evaluations")), 3);
    static const int columns[] = {0, 2, 4, 3, 6, 7}; /* step, seconds, loss, rate, norm, speed */
    for (int i = 0; i < 6; i++) expect_column(gpt, "rows", i, "page/model.csv", columns[i]);
    expect_column(gpt, "evaluations", 2, "page/model.csv", 5);
    const char *heads = member(facts("page/report.html"), "heads");
    assert_int_equal(length_of(heads), 2);
    double own, first, second; /* rows of one and of two weights */
    assert_int_equal(sscanf(heads, "[[%lf,%lf,%lf,", &own, &first, &second), 3);
    assert_true(own == 1000 && fabs(first + second - 1000) <= 1);
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
    while (!page_says("live/report.html", "\"live\":{") ||
           page_says("live/report.html", "\"version\":1}")) /* before the first step */
        assert_true(is_running(child));
    kill_process(child);
    close(out);
    finish(child);
    assert_non_null(json_member(facts("live/report.html"), "live"));
    must_run("train " TINY "-q -o @live " ACT);
    assert_null(json_member(facts("live/report.html"), "live"));
    assert_int_equal(length_of(member(model_on("live/report.html", "gpt"), "evaluations")), 2);
}

/* After many evaluations the page has some lines, including the last. */
TEST(many_lines) {
    train("-s 100 --eval-every 1 -o @lines " ACT);
    const char *at = member(model_on("lines/report.html", "gpt"), "evaluations");
    int evaluations = 0, lines = 0, length = 0;
    for (; *at != ']'; at = json_end(at + 1), evaluations++) {
        length = length_of(at + 1);
        assert_true(length == 3 || length == 4);
        lines += length == 4;
    }
    assert_int_equal(evaluations, 100);
    assert_in_range(lines, 30, 40);
    assert_int_equal(length, 4); /* of the last */
}

/* The page of a failed training shows the error and the curve until then, and no longer says that
 * the training runs. */
TEST(failed_page) {
    run("train -q " TINY "-m conv --lr 6 -s 200 -o @gone " ACT);
    assert_int_equal(ran.status, 1);
    expect_line_of(facts("gone/report.html"), ran.command, TEXTS("\"failure\":", "conv"));
    assert_null(json_member(facts("gone/report.html"), "live"));
    assert_true(length_of(member(model_on("gone/report.html", "conv"), "rows")) > 0);
}

/* An arrow marks a rung whose loss was still falling, as in the table of ./train. */
TEST(arrows) {
    must_run("train -q " TINY "--ladder -s 300 --eval-every 30 -o @ladder " ACT);
    for (int i = 0; i < 7; i++) /* ngram begins where counting ends */
        assert_int_equal(*member(model_on("ladder/report.html", model_name(i)), "falling"), '1');
    assert_null(json_member(model_on("ladder/report.html", "counted bigram"), "rows"));
    assert_int_equal(*member(model_on("ladder/report.html", "gpt"), "sampled"), '0');
}

/* The page says which losses are of a part of the held-out text. */
TEST(sampled) {
    scratch_random("long", 400000, 5, 3);
    must_run_clocked(0.1, "", "train -q " SMALL_SIZES "-t 12 -o @part @long");
    assert_int_equal(*member(model_on("part/report.html", "gpt"), "sampled"), '1');
}

/* Reads a number, the planned end and the share that is done from the page that a killed training
 * left behind. */
static void read_status(const char *path, const char *key, double *now, double *end,
                        double *share) {
    const char *live = member(facts(path), "live");
    assert_int_equal(strncmp(member(live, "name"), "\"gpt\"", 5), 0);
    *now = strtod(member(live, key), NULL);
    *end = strtod(member(live, "end"), NULL);
    *share = strtod(member(live, "done"), NULL);
}

/* The page counts the time before a run was resumed, but not a baseline that is left out. */
TEST(page_status) {
    double before, done, all, share;
    run_clocked(0.01, " 9@70", "train -q " SMALL_SIZES "-e 0 --patience 1 -t 100 -o @status " ACT);
    read_status("status/report.html", "seconds", &before, &all, &share);
    assert_true(before > 50 && before < 70 && all == 100);
    assert_near(share, before / all, 0.006);
    run_clocked(0.01, " 9@25", "train -r -q -o @status " ACT);
    read_status("status/report.html", "seconds", &done, &all, &share);
    assert_true(done > before + 10 && done < before + 27);
    assert_near(share, done / all, 0.006);
    run_clocked(0.01, " 9@9",
                "train -q -b 4 -j 1 -s 3000 --eval-every 50 --init @status -o @one " ACT);
    read_status("one/report.html", "step", &done, &all, &share);
    assert_true(done >= 50 && done < 500);
    assert_near(share, done / all, 0.0006);
    scratch_remove(scratch("status"));
    scratch_remove(scratch("one"));
}
