/* test_log.c - a training's log: what is written is what is read back. */
#include "tests/support.h"
#include "tests/scratch.h"
#include "base/file.h"
#include "base/memory.h"
#include "training/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static LogRow row_at(int step) {
    return (LogRow){.step = step,
                    .characters = 64.0 * step,
                    .seconds = 0.25 * step,
                    .rate = 1e-3 / step,
                    .loss = 1 + 1.0 / step,
                    .validation = step % 100 == 0 ? 2 + 1.0 / step : NAN,
                    .norm = 0.5,
                    .speed = 5000,
                    .excerpt = step % 100 == 0 ? "say \"no\", and, so↵on" : NULL};
}

static void write_rows(const char *path, int steps) {
    FILE *log;
    Error err;
    assert_ok(log_open(&log, path, 0, &err), err);
    for (int step = 1; step <= steps; step++) {
        LogRow row = row_at(step);
        log_row(log, &row);
    }
    assert_int_equal(fclose(log), 0);
}

/* Each of them is a row as it was written, in order. */
static void check_rows(const LogRows *log) {
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
        assert_true(isnan(row->validation) == isnan(same.validation));
        if (!isnan(same.validation)) assert_near(row->validation, same.validation, 1e-6);
        if (same.excerpt)
            assert_string_equal(row->excerpt, same.excerpt);
        else
            assert_null(row->excerpt);
        before = row->step;
    }
}

static LogRows *read_back(const char *path) {
    LogRows *log = malloc(sizeof *log);
    assert_non_null(log);
    log_read(log, path);
    return log;
}

static void test_all(void **state) {
    (void)state;
    const char *path = scratch("short.csv");
    write_rows(path, 250);
    LogRows *log = read_back(path);
    assert_int_equal(log->count, 250);
    check_rows(log);
    free(log);
}

/* Of many rows the first, the last and some between; no evaluation is lost unless there are many.
 */
static void test_thinned(void **state) {
    (void)state;
    const char *path = scratch("long.csv");
    write_rows(path, 20000);
    LogRows *log = read_back(path);
    check_rows(log);
    int evaluations = 0;
    for (int i = 0; i < log->count; i++) evaluations += !isnan(log->rows[i].validation);
    assert_int_equal(evaluations, 200);
    assert_in_range(log->count - evaluations, LOG_KEPT / 2, LOG_KEPT + 1);
    assert_int_equal(log->rows[0].step, 1);
    assert_int_equal(log->rows[log->count - 1].step, 20000);
    free(log);
    write_rows(path, 150000);
    log = read_back(path);
    assert_in_range(log->count, LOG_KEPT, LOG_ROWS);
    assert_int_equal(log->rows[log->count - 1].step, 150000);
    check_rows(log);
    free(log);
}

/* What is no row is passed over. */
static void test_other_lines(void **state) {
    (void)state;
    static const char text[] = "step,tokens\n"
                               "1,64,0.1,0.001,2.5,,0.5,100,\n"
                               "2,64,0.1,0.001,nan,,0.5,100,\n"
                               "3,64,0.1,0.001,2.5\n"
                               "-4,64,0.1,0.001,2.5,,0.5,100,\n"
                               "5,64,0.1,0.001,2.5,1e999,0.5,100,\n"
                               "\n,,,,,,,,\n"
                               "6,64,0.1,0.001,2.5,2.25,0.5,100,\"a \"\"b\"\n"
                               "7,64,0.1,0.001,2.5,2.25,0.5,100,\"cut";
    const char *path = scratch_put("odd.csv", text, strlen(text));
    LogRows *log = read_back(path);
    assert_int_equal(log->count, 3);
    assert_int_equal(log->rows[0].step, 1);
    assert_string_equal(log->rows[1].excerpt, "a \"b");
    assert_string_equal(log->rows[2].excerpt, "cut");
    free(log);
}

/* A spreadsheet runs what begins like a formula: in the file it does not begin so, and read back it
 * is as it was. */
static void test_formulas(void **state) {
    (void)state;
    static const char *const texts[][2] = {{"=1+1", "\"'=1+1\""}, {"+1", "\"'+1\""},
                                           {"-1", "\"'-1\""},     {"@SUM(A1)", "\"'@SUM(A1)\""},
                                           {"\ta", "\"'\ta\""},   {"\ra", "\"'\ra\""},
                                           {"'=1", "\"''=1\""},   {"''-a", "\"'''-a\""},
                                           {"'tis", "\"'tis\""},  {"''", "\"''\""},
                                           {"'", "\"'\""},        {"a=1", "\"a=1\""},
                                           {" -a", "\" -a\""},    {"\"=1", "\"\"\"=1\""},
                                           {"'\"-", "\"'\"\"-\""}};
    enum { TEXTS = sizeof texts / sizeof *texts };
    const char *path = scratch("formulas.csv");
    FILE *file;
    Error err;
    size_t length;
    assert_ok(log_open(&file, path, 0, &err), err);
    for (int i = 0; i < TEXTS; i++) {
        LogRow row = row_at(100);
        row.excerpt = texts[i][0];
        log_row(file, &row);
    }
    assert_int_equal(fclose(file), 0);
    LogRows *log = read_back(path);
    assert_int_equal(log->count, TEXTS);
    for (int i = 0; i < TEXTS; i++) assert_string_equal(log->rows[i].excerpt, texts[i][0]);
    free(log);
    char *csv;
    assert_ok(file_read(path, &csv, &length, &err), err);
    char *line = strchr(csv, '\n') + 1;
    for (int i = 0; i < TEXTS; i++, line = strchr(line, '\n') + 1) {
        const char *cell = line;
        for (int commas = 0; commas < 8; cell++) commas += *cell == ',';
        assert_memory_equal(cell, texts[i][1], strlen(texts[i][1]));
        assert_int_equal(cell[strlen(texts[i][1])], '\n');
    }
    memory_free(csv);
}

/* The longest text is kept whole, whatever it begins with. */
static void test_long_formula(void **state) {
    (void)state;
    char text[EXCERPT_ROOM];
    memset(text, '"', sizeof text);
    *text = '=';
    text[sizeof text - 1] = 0;
    const char *path = scratch("long_formula.csv");
    FILE *file;
    Error err;
    LogRow row = row_at(100);
    row.excerpt = text;
    assert_ok(log_open(&file, path, 0, &err), err);
    log_row(file, &row);
    assert_int_equal(fclose(file), 0);
    LogRows *log = read_back(path);
    assert_int_equal(log->count, 1);
    assert_string_equal(log->rows[0].excerpt, text);
    free(log);
}

/* Neither a folder nor a pipe, on which it would wait, nor nothing. */
static void test_no_file(void **state) {
    (void)state;
    const char *pipe = scratch("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *const paths[] = {pipe, scratch("."), scratch("none.csv"), "/dev/null"};
    for (int i = 0; i < 4; i++) {
        LogRows *log = read_back(paths[i]);
        assert_int_equal(log->count, 0);
        free(log);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),          cmocka_unit_test(test_thinned),
        cmocka_unit_test(test_other_lines),  cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_long_formula), cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
