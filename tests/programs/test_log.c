/* test_log.c - a training log is read back as written. */
#include "tests/command.h"
#include "programs/train/course.h"

static LogRow row_at(int step) {
    LogRow row = {.step = step,
                  .characters = 64.0 * step,
                  .seconds = 0.25 * step,
                  .rate = 1e-3 / step,
                  .loss = 1 + 1.0 / step,
                  .validation = step % 100 == 0 ? 2 + 1.0 / step : NAN,
                  .norm = 0.5,
                  .speed = 5000,
                  .compute = step % 3 ? 1e9 * step : (double)NAN};
    if (step % 100 == 0) strcpy(row.sample, "say \"no\", and, so↵on");
    return row;
}

static void write_log(const char *path, LogRow *rows, int count) {
    Log log;
    assert_ok(log_create(&log, path, &err), err);
    for (int i = 0; i < count; i++) log_row(&log, &rows[i]);
    assert_true(log_flush(&log));
    log_close(&log);
}

static void write_rows(const char *path, int steps) {
    LogRow *rows = scrap((size_t)steps, sizeof *rows);
    for (int step = 1; step <= steps; step++) rows[step - 1] = row_at(step);
    write_log(path, rows, steps);
}

/* Each row is as written, in order. */
static void check_rows(const Rows *log) {
    int before = 0;
    for (int i = 0; i < log->count; i++) {
        const LogRow *row = &log->rows[i];
        LogRow same = row_at(row->step);
        assert_true(row->step > before);
        assert_near(row->characters, same.characters, 0);
        assert_near(row->seconds, same.seconds, 1e-3);
        assert_near(row->rate, same.rate, 1e-5 * same.rate);
        assert_near(row->loss, same.loss, 1e-6);
        assert_near(row->norm, same.norm, 1e-6);
        assert_near(row->speed, same.speed, 0.5);
        assert_true(isnan(row->compute) == isnan(same.compute));
        if (!isnan(same.compute)) assert_near(row->compute, same.compute, 1e-5 * same.compute);
        assert_true(isnan(row->validation) == isnan(same.validation));
        if (!isnan(same.validation)) assert_near(row->validation, same.validation, 1e-6);
        assert_string_equal(row->sample, same.sample);
        before = row->step;
    }
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

/* Lines that are not rows are skipped. */
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
    assert_int_equal(log->count, 3);
    assert_int_equal(log->rows[0].step, 1);
    assert_string_equal(log->rows[1].sample, "a \"b");
    assert_true(isnan(log->rows[0].compute) && isnan(log->rows[1].compute));
    assert_string_equal(log->rows[2].sample, "cut");
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
    must_run("train -m bigram -c 8 -b 1 -s 10200 --eval-every 200 -o @rare/m " PLAY);
    const Course *log = read_back(scratch("rare/m.csv"));
    const double loss = strtod(strstr(after("step 10200/10200"), "loss ") + 5, NULL);
    assert_int_equal(log->all.seen, 9999 + 101);
    assert_near(log->last.loss, loss, 1e-4);
}

/* ---- continuing ---- */

/* Writes a log of ten rows. Sets *length and *digest to those after six rows. */
static void write_ten(const char *path, size_t *length, uint64_t *digest) {
    Log log;
    assert_ok(log_create(&log, path, &err), err);
    for (int step = 1; step <= 10; step++) {
        LogRow row = row_at(step * 100);
        log_row(&log, &row);
        *length = step == 6 ? log.length : *length;
        *digest = step == 6 ? digest_value(&log.digest) : *digest;
    }
    log_close(&log);
}

/* Reopens the log after the rows that the state knows. The end result is as if written at once. */
TEST(reopened) {
    size_t length = 0;
    uint64_t digest = 0;
    FileStatus status;
    const char *path = scratch("again.csv"), *whole = scratch("whole.csv");
    write_rows(whole, 700);
    for (int cut = 0; cut < 60; cut += 7) {
        Log log;
        write_ten(path, &length, &digest);
        assert_true(filesystem_look(path, true, &status));
        assert_true(resize_file(path, status.size - (uint64_t)cut)); /* killed while writing */
        assert_true(log_reopen(&log, path, length, digest));
        LogRow row = row_at(700);
        log_row(&log, &row);
        size_t written = log.length;
        uint64_t now = digest_value(&log.digest);
        log_close(&log);
        const Rows *rows = &read_back(path)->all;
        assert_int_equal(rows->count, 7);
        check_rows(rows);
        assert_true(filesystem_look(path, true, &status));
        assert_int_equal(status.size, written);
        assert_true(log_reopen(&log, path, written, now));
        log_close(&log);
    }
}

/* A file that was changed since is left unchanged. */
static void expect_untouched(const char *name, const char *bytes, size_t all, size_t length,
                             uint64_t digest) {
    Log log;
    const char *path = scratch_put(name, bytes, all);
    assert_false(log_reopen(&log, path, length, digest));
    assert_null(log.file);
    scratch_expect(name, bytes, all);
}

TEST(other_log) {
    size_t length = 0, all;
    uint64_t digest = 0;
    char text[4096];
    write_ten(scratch("ten.csv"), &length, &digest);
    strcpy(text, slurp(scratch("ten.csv"), &all));
    assert_true(all > length);
    expect_untouched("cut.csv", text, length - 1, length, digest);
    expect_untouched("void.csv", text, 0, length, digest);
    text[length / 2] ^= 1;
    expect_untouched("edited.csv", text, all, length, digest);
    text[length / 2] ^= 1;
    memcpy(text + all, "my notes\n", 9);
    expect_untouched("notes.csv", text, all + 9, length, digest);
    Log log;
    assert_false(log_reopen(&log, scratch("."), length, digest));
    if (make_named_pipe(scratch("pipe.csv"))) { /* nobody writes, and opening it does not wait */
        assert_false(log_reopen(&log, scratch("pipe.csv"), length, digest));
        assert_int_equal(read_back(scratch("pipe.csv"))->all.count, 0);
    }
    if (make_symbolic_link(scratch("ten.csv"), scratch("link.csv")))
        assert_false(log_reopen(&log, scratch("link.csv"), length, digest));
    assert_true(log_reopen(&log, scratch("ten.csv"), length, digest));
    log_close(&log);
}

/* A new log replaces one name of a file, and not the content under its other names, and no link. */
TEST(created) {
    Log log;
    scratch_put("precious", "precious", 8);
    make_hard_link(scratch("precious"), scratch("hard.csv"));
    assert_ok(log_create(&log, scratch("hard.csv"), &err), err);
    log_close(&log);
    scratch_expect("precious", "precious", 8);
    skip_without(SYMBOLIC_LINKS);
    make_symbolic_link(scratch("precious"), scratch("soft.csv"));
    assert_false(log_create(&log, scratch("soft.csv"), &err));
    expect_error(err, "soft.csv", "a symbolic link");
    scratch_expect("precious", "precious", 8);
}

FIXTURE(scratch_open, scratch_close)
