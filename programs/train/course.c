#include "programs/train/course.h"
#include "base/file.h"
#include "base/number.h"
#include "programs/run_files.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { QUOTED_SIZE = 2 * SAMPLE_SIZE + 4, LINE_SIZE = QUOTED_SIZE + 512 };

/* ---- writing the log ---- */

static void put(Log *log, const char *text, size_t length) {
    fwrite(text, 1, length, log->file);
    digest_add(&log->digest, text, length);
    log->length += length;
}

/* A new file replaces the old one, which stays if it cannot be written. */
bool log_create(Log *log, const char *path, Error *err) {
    *log = (Log){.digest = digest_start()};
    if (!file_write(path, &(FilePart){LOG_HEADING, strlen(LOG_HEADING)}, 1, err)) return false;
    log->file = file_stream(path, STREAM_UPDATE, err);
    if (log->file) put(log, LOG_HEADING, strlen(LOG_HEADING));
    return log->file != NULL;
}

/* Returns true if a spreadsheet would read the text, without leading apostrophes, as a formula. */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* Puts the text in quotes and doubles the quotes in it (RFC 4180). An apostrophe before a text that
 * looks like a formula tells a spreadsheet that it is text; read_quoted removes it. */
static void quote(const char *text, char quoted[QUOTED_SIZE]) {
    char *to = quoted;
    *to++ = '"';
    if (like_formula(text)) *to++ = '\'';
    for (; *text; text++) {
        if (*text == '"') *to++ = '"';
        *to++ = *text;
    }
    memcpy(to, "\"", 2);
}

void log_row(Log *log, const LogRow *row) {
    char line[LINE_SIZE], quoted[QUOTED_SIZE] = "";
    char seconds[NUMBER_SIZE], rate[NUMBER_SIZE], loss[NUMBER_SIZE], norm[NUMBER_SIZE];
    char validation[NUMBER_SIZE] = "", compute[NUMBER_SIZE] = "";
    number_write(seconds, NUMBER_SIZE, 'f', 3, row->seconds);
    number_write(rate, NUMBER_SIZE, 'g', 6, row->rate);
    number_write(loss, NUMBER_SIZE, 'f', 6, row->loss);
    number_write(norm, NUMBER_SIZE, 'g', 6, row->norm);
    if (!isnan(row->validation)) number_write(validation, NUMBER_SIZE, 'f', 6, row->validation);
    if (!isnan(row->compute)) number_write(compute, NUMBER_SIZE, 'g', 6, row->compute / TERA);
    if (*row->sample) quote(row->sample, quoted);
    int length = snprintf(line, sizeof line, "%d,%.0f,%s,%s,%s,%s,%s,%.0f,%s%s%s\n", row->step,
                          row->characters, seconds, rate, loss, validation, norm, row->speed,
                          quoted, *compute ? "," : "", compute);
    put(log, line, (size_t)length);
}

bool log_has_row(int step) {
    int every = 1;
    while (step / every >= 10000) every *= 2;
    return step % every == 0;
}

bool log_flush(Log *log) {
    return fflush(log->file) == 0 && !ferror(log->file);
}

void log_close(Log *log) {
    if (log->file) fclose(log->file);
    log->file = NULL;
}

/* ---- reading rows ---- */

/* Reads a number and the comma after it. Returns false if there is none. */
static bool read_number(const char **at, double *number) {
    char *end;
    *number = number_read(*at, &end);
    bool read = end > *at && fabs(*number) < 1e15; /* possible in a training run */
    *at = end + (*end == ',');
    return read && *end == ',';
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

/* Reads a row. Returns false if the line is not one. */
static bool read_row(const char *line, LogRow *row) {
    double step = 0;
    double *const numbers[] = {&step,      &row->characters, &row->seconds, &row->rate,
                               &row->loss, &row->validation, &row->norm,    &row->speed};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == &row->validation && *line == ',') {
            row->validation = NAN;
            line++;
        } else if (!read_number(&line, numbers[i])) {
            return false;
        }
    if (!(step >= 1 && step <= 1e9)) return false;
    row->step = (int)step;
    line = read_quoted(line, row->sample);
    char *end = NULL;
    double tera = *line == ',' ? number_read(line + 1, &end) : NAN;
    row->compute = end && *end == '\n' && tera >= 0 && tera < 1e15 ? tera * TERA : NAN;
    return true;
}

/* ---- continuing the log ---- */

/* Reads `length` bytes and computes their digest: false if the file ends before. */
static bool read_known(FILE *file, size_t length, Digest *digest) {
    char bytes[4096];
    *digest = digest_start();
    while (length > 0) {
        size_t want = length < sizeof bytes ? length : sizeof bytes;
        if (fread(bytes, 1, want, file) != want) return false;
        digest_add(digest, bytes, want);
        length -= want;
    }
    return true;
}

/* Returns true if only rows follow, which were written after the last save and will be written
 * again. The last of them may be incomplete. */
static bool only_rows_follow(FILE *file) {
    char line[LINE_SIZE];
    LogRow row;
    while (fgets(line, sizeof line, file))
        if (strchr(line, '\n') ? !read_row(line, &row) : strspn(line, "0123456789") == 0)
            return false;
    return !ferror(file);
}

bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest) {
    Error none;
    *log = (Log){.length = length, .file = file_stream(path, STREAM_UPDATE, &none)};
    if (!log->file) return false;
    if (read_known(log->file, length, &log->digest) && digest_value(&log->digest) == digest &&
        only_rows_follow(log->file) && ftruncate(fileno(log->file), (off_t)length) == 0 &&
        fseeko(log->file, 0, SEEK_END) == 0)
        return true;
    log_close(log);
    return false;
}

/* ---- the course: rows ---- */

static int kind_of(const LogRow *row) {
    return !isnan(row->validation);
}

/* Adds a row, rounded to the digits of the log, so that a page is the same after resuming, which
 * reads the log. Replaces the last row of its kind, unless that is an evenly spaced one. */
static void keep_row(Course *c, const LogRow *row) {
    int kind = kind_of(row), last = c->count - 1;
    int *held = &c->kinds[kind].kept, *seen = &c->kinds[kind].seen, *every = &c->kinds[kind].every;
    if (*every == 0) *every = 1;
    if (*seen > 0 && (*seen - 1) % *every != 0) {
        while (kind_of(&c->rows[last]) != kind) last--;
        memmove(&c->rows[last], &c->rows[last + 1], (size_t)(--c->count - last) * sizeof *row);
        --*held;
    }
    if (*held == COURSE_KEPT) { /* keeps every second row of this kind */
        int count = 0, of_kind = 0;
        for (int i = 0; i < c->count; i++)
            if (kind_of(&c->rows[i]) != kind || of_kind++ % 2 == 0) c->rows[count++] = c->rows[i];
        *held -= c->count - count;
        *every *= 2;
        c->count = count;
    }
    LogRow *kept = &c->rows[c->count++];
    *kept = *row;
    kept->loss = round(row->loss * 1e6) / 1e6;
    kept->validation = round(row->validation * 1e6) / 1e6;
    kept->seconds = round(row->seconds * 1e3) / 1e3;
    const double tera = row->compute / TERA,
                 scale = tera > 0 ? pow(10, 5 - floor(log10(tera))) : 1; /* six digits */
    kept->compute = TERA * (round(tera * scale) / scale);
    kept->sum = c->sum;
    ++*held;
    ++*seen;
}

/* ---- the course: evaluations ---- */

static void add_evaluation(Course *c, const LogRow *row) {
    double loss = c->loss_count > 0 ? c->loss_sum / c->loss_count : NAN;
    bool lowest = c->kinds[1].seen == 0 || row->validation < c->lowest.validation;
    if (c->kinds[1].seen == 1) c->second_loss = loss;
    c->before = c->last;
    c->last = (Evaluation){row->step, loss, row->validation};
    if (lowest) c->lowest = c->last;
    c->since_lowest = lowest ? 0 : c->since_lowest + 1;
    c->loss_sum = c->loss_count = 0;
}

void course_begin(Course *c, double validation) {
    const LogRow row = {.rate = NAN,
                        .loss = NAN,
                        .validation = validation,
                        .norm = NAN,
                        .speed = NAN,
                        .compute = NAN};
    add_evaluation(c, &row);
    keep_row(c, &row);
}

double course_validation(const Course *c, double step) {
    const LogRow *before = NULL;
    for (const LogRow *row = c->rows; row < c->rows + c->count; row++) {
        if (!kind_of(row)) continue;
        if (row->step == step) return row->validation;
        if (row->step > step)
            return !before
                       ? NAN
                       : before->validation + (step - before->step) / (row->step - before->step) *
                                                  (row->validation - before->validation);
        before = row;
    }
    return NAN;
}

/* ---- the course: the training loss ---- */

/* Counts a spike: a loss that exceeds the mean of the interval before by more than batches vary. */
static void add_spike(Course *c, const LogRow *row) {
    const double far = 1, deviations = 8;
    const Interval *before = &c->interval;
    if (before->step == 0 || row->loss < before->mean + fmax(far, deviations * before->deviation))
        return;
    c->spikes++;
    c->spike = (Rise){row->step, c->interval.mean, row->loss, fmax(c->spike.rate, row->rate)};
}

static void end_interval(Course *c, const LogRow *row) {
    double mean = c->interval_sum / c->in_interval;
    double deviation = sqrt(fmax(0, c->interval_squares / c->in_interval - mean * mean));
    Interval interval = {mean, deviation, deviation / sqrt(c->in_interval), row->step};
    if (c->interval.step == 0) c->floor = interval; /* the first one */
    if (mean - c->floor.mean > c->rise.to - c->rise.from)
        c->rise = (Rise){row->step, c->floor.mean, mean, row->rate};
    if (mean < c->floor.mean) c->floor = interval;
    c->interval = interval;
    c->interval_sum = c->interval_squares = c->in_interval = 0;
    c->interval_begin = row->characters;
}

void course_add(Course *c, const LogRow *row) {
    const double enough = fmax(2000, row->characters / 200); /* for a mean with little chance */
    if (c->steps == 0) c->start = c->steps = row->step - 1;
    const int steps = row->step - c->steps; /* since the row before */
    c->steps = row->step;
    c->characters = row->characters;
    c->compute = row->compute;
    c->sum += row->loss * steps;
    c->loss_sum += row->loss * steps;
    c->loss_count += steps;
    c->interval_sum += row->loss;
    c->interval_squares += row->loss * row->loss;
    add_spike(c, row);
    if (++c->in_interval >= COURSE_INTERVAL && c->characters - c->interval_begin >= enough)
        end_interval(c, row);
    if (kind_of(row)) add_evaluation(c, row);
    keep_row(c, row);
}

void course_read(Course *course, const char *path) {
    char line[LINE_SIZE];
    LogRow row;
    Error none;
    FILE *file = file_stream(path, STREAM_READ, &none);
    if (!file) return;
    while (fgets(line, sizeof line, file))
        if (read_row(line, &row) && row.step > course->steps) course_add(course, &row);
    fclose(file);
}

/* Returns the sum of the training losses up to a step, interpolated between rows. */
static double sum_until(const Course *c, double step) {
    double from = c->start, sum = 0;
    for (const LogRow *row = c->rows; row < c->rows + c->count; row++) {
        if (row->step <= from) continue;
        if (row->step >= step) return sum + (step - from) / (row->step - from) * (row->sum - sum);
        from = row->step;
        sum = row->sum;
    }
    return sum;
}

/* Returns the training loss at this share of the steps, the mean of a 16th of them; unknown if
 * there are too few steps or the log lacks its beginning. */
static double training_loss(const Course *c, double share) {
    const int parts = 16;
    double each = (double)c->steps / parts, from = floor(share * parts) * each;
    if (c->start != 0 || c->steps < parts / 2) return NAN;
    return (sum_until(c, from + each) - sum_until(c, from)) / each;
}

double course_fall(const Course *c, double from, double to) {
    double fall = course_validation(c, from * c->steps) - course_validation(c, to * c->steps);
    return !isnan(fall) ? fall : training_loss(c, from) - training_loss(c, to);
}
