/* test_log.c - a training log is read back as written. */
#include "tests/command.h"
#include "programs/train/log.h"

static LogRow row_at(int step) {
    LogRow row = {.step = step,
                  .characters = 64.0 * step,
                  .seconds = 0.25 * step,
                  .rate = 1e-3 / step,
                  .loss = 1 + 1.0 / step,
                  .validation = step % 100 == 0 ? 2 + 1.0 / step : NAN,
                  .norm = step == 3 ? 1e19 : 0.5, /* a gradient that explodes */
                  .speed = 5000,
                  .compute = step % 3 ? 1e9 * step : (double)NAN};
    if (step % 100 == 0) strcpy(row.sample, "say \"no\", and, so↵on");
    return row;
}

static Course course;

static bool open_log(FILE **log, const char *path, int step) {
    course = (Course){0};
    return log_open(log, path, step, &course, &err);
}

static void write_log(const char *path, LogRow *rows, int count) {
    FILE *log;
    remove(path);
    assert_ok(open_log(&log, path, 0), err);
    for (int i = 0; i < count; i++) log_row(log, &rows[i]);
    assert_true(log_flush(log));
    fclose(log);
}

static void write_rows(const char *path, int steps) {
    LogRow *rows = scrap((size_t)steps, sizeof *rows);
    for (int step = 1; step <= steps; step++) rows[step - 1] = row_at(step);
    write_log(path, rows, steps);
}

/* Each row is as written, in order: written again, it is the same. */
static void check_rows(const Rows *log) {
    LogRow *same = scrap((size_t)log->count, sizeof *same);
    LogRow *read = memcpy(scrap((size_t)log->count, sizeof *read), log->rows,
                          (size_t)log->count * sizeof *read);
    for (int i = 0; i < log->count; i++) {
        same[i] = row_at(log->rows[i].step);
        assert_true(i == 0 || same[i].step > same[i - 1].step);
    }
    write_log(scratch("same.csv"), same, log->count);
    write_log(scratch("read.csv"), read, log->count);
    scratch_expect_same("same.csv", "read.csv");
}

static Course *read_back(const char *path) {
    Course *log = scrap(1, sizeof *log);
    course_read(log, path);
    return log;
}

/* A short log is whole. Thinning keeps the first and last row and some between. */
TEST(thinned) {
    const char *path = scratch("long.csv");
    write_rows(path, 250);
    Course *log = read_back(path);
    assert_int_equal(log->all.count, 250);
    check_rows(&log->all);
    for (int steps = 20000; steps <= 150000; steps += 130000) {
        write_rows(path, steps);
        log = read_back(path);
        const Rows *const both[] = {&log->all, &log->evaluated};
        for (int i = 0; i < 2; i++) {
            check_rows(both[i]);
            assert_in_range(both[i]->count, COURSE_KEPT / 2, COURSE_KEPT);
            assert_int_equal(both[i]->rows[0].step, i == 0 ? 1 : 100);
            assert_int_equal(both[i]->rows[both[i]->count - 1].step, steps);
        }
    }
}

/* Lines that are not rows, or were cut, are skipped. */
TEST(other_lines) {
    static const char text[] = "step,tokens\n"
                               "1,64,0.1,0.001,2.5,,0.5,100,\n"
                               "2,64,0.1,0.001,nan,,0.5,100,\n"
                               "3,64,0.1,0.001,2.5\n"
                               "-4,64,0.1,0.001,2.5,,0.5,100,\n"
                               "5,64,0.1,0.001,2.5,1e999,0.5,100,\n"
                               "\n,,,,,,,,\n"
                               "6,64,0.1,0.001,2.5,2.25,0.5,100,\"a \"\"b\",inf\n"
                               "7,64,0.1,0.001,2.5,2.25,0.5,100,\"cut";
    const char *path = scratch_put("odd.csv", text, strlen(text));
    const Rows *log = &read_back(path)->all;
    assert_int_equal(log->count, 2);
    assert_int_equal(log->rows[0].step, 1);
    assert_string_equal(log->rows[1].sample, "a \"b");
    assert_true(isnan(log->rows[0].compute) && isnan(log->rows[1].compute));
}

/* A spreadsheet executes text that begins like a formula. The file must not contain such text, and
 * reading must restore it. The longest text is kept whole. */
TEST(formulas) {
    static char longest[SAMPLE_SIZE] = "=";
    static const char *const texts[][2] = {{"=1+1", "\"'=1+1\""},  {"+1", "\"'+1\""},
                                           {"-1", "\"'-1\""},      {"@SUM(A1)", "\"'@SUM(A1)\""},
                                           {"\ta", "\"'\ta\""},    {"\ra", "\"'\ra\""},
                                           {"'=1", "\"''=1\""},    {"''-a", "\"'''-a\""},
                                           {"'tis", "\"'tis\""},   {"''", "\"''\""},
                                           {"'", "\"'\""},         {"a=1", "\"a=1\""},
                                           {" -a", "\" -a\""},     {"\"=1", "\"\"\"=1\""},
                                           {"'\"-", "\"'\"\"-\""}, {longest, "\"'=\"\""}};
    enum { TEXTS = sizeof texts / sizeof *texts };
    const char *path = scratch("formulas.csv");
    size_t length;
    LogRow rows[TEXTS];
    memset(longest + 1, '"', sizeof longest - 2);
    for (int i = 0; i < TEXTS; i++)
        rows[i] = row_at(300 * i + 100), strcpy(rows[i].sample, texts[i][0]);
    write_log(path, rows, TEXTS);
    const Rows *log = &read_back(path)->all;
    assert_int_equal(log->count, TEXTS);
    for (int i = 0; i < TEXTS; i++) assert_string_equal(log->rows[i].sample, texts[i][0]);
    char *line = strchr(slurp(path, &length), '\n') + 1;
    for (int i = 0; i < TEXTS; i++, line = strchr(line, '\n') + 1) {
        const char *cell = line;
        for (int commas = 0; commas < 8; cell++) commas += *cell == ',';
        assert_memory_equal(cell, texts[i][1], strlen(texts[i][1]));
        if (texts[i][0] != longest) assert_int_equal(cell[strlen(texts[i][1])], ',');
    }
}

/* From step 10,000 on only some steps have a row, and the losses of the others are in its mean:
 * that of 200 steps is the one printed for their evaluation. */
TEST(rare_rows) {
    int rows = 0;
    for (int step = 1; step <= 1000000; step++) rows += log_has_row(step);
    assert_int_equal(rows, 9999 + 6 * 5000 + 2813);
    must_run("train -m bigram -c 8 -b 1 -s 10200 --eval-every 200 -o @rare " PLAY);
    const Course *log = read_back(scratch("rare/model.csv"));
    const double loss = strtod(strstr(after("step 10200/10200"), "loss ") + 5, NULL);
    assert_int_equal(log->all.seen, 9999 + 101);
    assert_near(log->last.loss, loss, 1e-4);
}

/* A mean of few losses does not show how far they scatter; one of eight does. */
TEST(noise) {
    for (int between = 7; between <= 8; between++) {
        course = (Course){0};
        for (int step = 1; step <= between; step++) {
            const double validation = step == between ? 2 : (double)NAN;
            course_add(&course,
                       &(LogRow){.step = step, .loss = 3 * (step % 2), .validation = validation});
        }
        assert_int_equal(isfinite(course.last.noise), between == 8);
    }
    assert_near(course.last.noise, 1.5 / sqrt(7), 1e-12);
}

/* ---- continuing ---- */

/* Opens the log after the row of a step, wherever a killed program stopped. The end result is as if
 * written at once. */
TEST(reopened) {
    FileStatus status;
    FILE *log;
    size_t length;
    const char *path = scratch("again.csv"), *whole = scratch("whole.csv");
    write_rows(whole, 12);
    const char *bytes = slurp(whole, &length);
    const size_t until = (size_t)(strstr(bytes, "\n7,") + 1 - bytes); /* up to step 6 */
    for (size_t cut = 0; cut <= length; cut++) {
        scratch_put("again.csv", bytes, length - cut);
        assert_ok(open_log(&log, path, 6), err);
        fclose(log);
        status = filesystem_look(path, true);
        if (length - cut < until) continue;
        assert_int_equal(status.size, until);
        assert_int_equal(course.row.step, 6);
    }
    scratch_put("again.csv", bytes, length);
    assert_ok(open_log(&log, path, 6), err);
    for (int step = 7; step <= 12; step++) {
        LogRow row = row_at(step);
        log_row(log, &row);
    }
    fclose(log);
    scratch_expect_same("whole.csv", "again.csv");
}

/* A file with any other line is left as it is, and so is another kind of file. */
TEST(other_log) {
    static const char *const ends[] = {"my notes\n", "my notes", "\n", "13,1\n"};
    FILE *log;
    write_rows(scratch("ten.csv"), 10);
    const char *rows = slurp(scratch("ten.csv"), NULL);
    for (int i = 0; i < 5; i++) {
        const char *text = i < 4 ? formatted("%s%s", rows, ends[i]) : "my notes";
        const char *path = scratch_put("other.csv", text, strlen(text));
        assert_false(open_log(&log, path, 5));
        assert_null(log);
        expect_error(err, "other.csv: ", i < 4 ? " 12 " : " 1 ");
        scratch_expect("other.csv", text, strlen(text));
    }
    assert_false(open_log(&log, scratch("."), 0));
    if (make_named_pipe(scratch("pipe.csv"))) { /* nobody writes, and opening it does not wait */
        assert_false(open_log(&log, scratch("pipe.csv"), 0));
        assert_int_equal(read_back(scratch("pipe.csv"))->all.count, 0);
    }
    if (make_symbolic_link(scratch("ten.csv"), scratch("link.csv")))
        assert_false(open_log(&log, scratch("link.csv"), 0));
}
