#include "programs/train/log.h"
#include "base/array.h"
#include "base/file.h"
#include "base/number.h"
#include "base/world.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 2 * SAMPLE_SIZE + 1024 };

static const char heading[] =
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n";

/* The numbers between the step and the sample, and their digits as for number_write. */
static const struct {
    size_t member;
    char style;
    int digits;
} numbers[] = {{offsetof(LogRow, characters), 'f', 0}, {offsetof(LogRow, seconds), 'f', 3},
               {offsetof(LogRow, rate), 'g', 6},       {offsetof(LogRow, loss), 'f', 6},
               {offsetof(LogRow, validation), 'f', 6}, {offsetof(LogRow, norm), 'g', 6},
               {offsetof(LogRow, speed), 'f', 0}};

static double *number_of(LogRow *row, int i) {
    return (void *)((char *)row + numbers[i].member);
}

/* ---- one row ---- */

/* Returns true if a spreadsheet would read the text, without leading apostrophes, as a formula. */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* Puts the text in quotes and doubles the quotes in it (RFC 4180). An apostrophe before a text that
 * looks like a formula tells a spreadsheet that it is text; read_quoted removes it. Returns the end
 * of what it wrote. */
static char *quote(const char *text, char *to) {
    *to++ = '"';
    if (like_formula(text)) *to++ = '\'';
    for (; *text; text++) {
        if (*text == '"') *to++ = '"';
        *to++ = *text;
    }
    *to++ = '"';
    return to;
}

/* Reads a text in quotes, if there is one, cut to fit. Returns the rest of the line. */
static const char *read_quoted(const char *at, char text[SAMPLE_SIZE]) {
    int length = 0;
    *text = 0;
    if (*at != '"') return at;
    at++;
    if (*at == '\'' && like_formula(at)) at++;
    for (; *at && *at != '\n'; at++) {
        if (*at == '"' && *++at != '"') break;
        if (length + 1 < SAMPLE_SIZE) text[length++] = *at;
    }
    text[length] = 0;
    return at;
}

/* Reads a number and the comma after it. Returns the rest of the line, or NULL. */
static const char *read_number(const char *at, double *number) {
    char *end;
    *number = number_read(at, &end);
    return end > at && *end == ',' && isfinite(*number) ? end + 1 : NULL;
}

/* Reads a row. Returns false if the line is not one. */
static bool read_row(const char *line, LogRow *row) {
    double step;
    line = read_number(line, &step);
    for (int i = 0; i < COUNT(numbers) && line; i++)
        if (*line == ',' && numbers[i].member == offsetof(LogRow, validation)) {
            row->validation = NAN;
            line++;
        } else {
            line = read_number(line, number_of(row, i));
        }
    if (!line || !(step >= 1 && step <= 1e9)) return false;
    row->step = (int)step;
    line = read_quoted(line, row->sample);
    char *end = NULL;
    double tera = *line == ',' ? number_read(line + 1, &end) : NAN;
    row->compute = end && *end == '\n' && tera >= 0 && tera < 1e15 ? tera * TERA : NAN;
    return true;
}

void log_row(FILE *log, LogRow *row) {
    char line[LINE_SIZE], *to = line + sprintf(line, "%d,", row->step);
    for (int i = 0; i < COUNT(numbers); i++) {
        const double x = *number_of(row, i);
        if (!isnan(x)) to += number_write(to, NUMBER_SIZE, numbers[i].style, numbers[i].digits, x);
        *to++ = ',';
    }
    if (*row->sample) to = quote(row->sample, to);
    if (!isnan(row->compute)) {
        *to++ = ',';
        to += number_write(to, NUMBER_SIZE, 'g', 6, row->compute / TERA);
    }
    memcpy(to, "\n", 2);
    fputs(line, log);
    read_row(line, row);
}

bool log_has_row(int step) {
    int every = 1;
    while (step / every >= 10000) every *= 2;
    return step % every == 0;
}

bool log_flush(FILE *log) {
    return fflush(log) == 0 && !ferror(log);
}

/* ---- the file ---- */

/* Adds the rows up to `step` to the course, and sets *kept to the length of the log up to the last
 * of them. A line that is no row is an error, except an incomplete last one; without `path` it is
 * skipped. */
static bool read_rows(FILE *log, const char *path, int step, Course *course, off_t *kept,
                      Error *err) {
    char line[LINE_SIZE];
    LogRow row;
    for (int number = 1; fgets(line, sizeof line, log); number++) {
        const bool whole = strchr(line, '\n') != NULL, is_row = number > 1 && read_row(line, &row);
        const bool known = number == 1 ? strncmp(line, heading, strlen(line)) == 0
                           : whole     ? is_row
                                       : strspn(line, "0123456789") > 0;
        if (!known && path)
            return fail(err,
                        "%s: line %d is not a row of a log; rename the file to begin a new log",
                        path, number);
        if (!whole || (is_row && row.step > step)) continue;
        if (is_row && row.step > course->row.step) course_add(course, &row);
        *kept = ftello(log);
    }
    return true;
}

bool log_open(FILE **log, const char *path, int step, Course *course, Error *err) {
    *log = NULL;
    if (world_rank() > 0) { /* only the first process keeps a log */
        *log = fopen("/dev/null", "w");
        return *log || fail(err, "/dev/null: cannot be opened: %s", strerror(errno));
    }
    if (file_kind(path) == FILE_NONE && !file_write(path, NULL, 0, err)) return false;
    FILE *file = file_stream(path, true, err);
    if (!file) return false;
    off_t kept = 0;
    bool ok = read_rows(file, path, step, course, &kept, err);
    if (ok && ferror(file)) ok = fail(err, "%s: cannot be read: %s", path, strerror(errno));
    if (ok && !(ftruncate(fileno(file), kept) == 0 && fseeko(file, kept, SEEK_SET) == 0 &&
                (kept > 0 || (fputs(heading, file) >= 0 && log_flush(file)))))
        ok = fail(err, "%s: cannot be written: %s", path, strerror(errno));
    if (ok)
        *log = file;
    else
        fclose(file);
    return ok;
}

/* ---- the history ---- */

static void keep(Rows *kept, const LogRow *row) {
    if (kept->every == 0) kept->every = 1;
    if (kept->count > 0 && (kept->seen - 1) % kept->every != 0) kept->count--;
    if (kept->count == COURSE_KEPT) {
        for (int i = 0; i < COURSE_KEPT; i += 2) kept->rows[i / 2] = kept->rows[i];
        kept->count /= 2;
        kept->every *= 2;
    }
    kept->rows[kept->count++] = *row;
    kept->seen++;
}

void course_add(Course *c, const LogRow *row) {
    const int steps = c->all.seen > 0 ? row->step - c->row.step : 1; /* since the row before */
    c->row = *row;
    c->peak = fmax(c->peak, row->rate);
    c->loss_sum += row->loss * steps;
    c->loss_squares += row->loss * row->loss * steps;
    c->loss_count += steps;
    if (row->step > 0) keep(&c->all, row);
    if (isnan(row->validation)) return;
    const double enough = 8; /* losses; fewer do not show how far they scatter */
    const double n = c->loss_count, loss = c->loss_sum / n,
                 noise = n < enough ? INFINITY
                                    : sqrt(fmax(0, c->loss_squares / n - loss * loss) / (n - 1));
    const bool first = c->evaluated.seen == 0;
    if (isnan(c->lowest.loss)) c->lowest.loss = loss;
    c->before = c->last;
    c->last = (Evaluation){row->step, loss, noise, row->validation};
    c->since_lowest++;
    if (first || row->validation < c->lowest.validation) {
        c->lowest = c->last;
        c->since_lowest = 0;
    }
    if (first || !(c->floor.loss <= loss)) {
        c->floor = c->last;
        c->peak = 0;
    }
    c->loss_sum = c->loss_squares = c->loss_count = 0;
    keep(&c->evaluated, row);
}

void course_read(Course *course, const char *path) {
    FILE *file = file_stream(path, false, &(Error){0});
    if (!file) return;
    read_rows(file, NULL, INT_MAX, course, &(off_t){0}, NULL);
    fclose(file);
}

double course_validation(const Course *c, double share) {
    double found = NAN;
    const Rows *e = &c->evaluated;
    for (int i = 0; i < e->count && e->rows[i].step <= share * c->row.step; i++)
        found = e->rows[i].validation;
    return found;
}
