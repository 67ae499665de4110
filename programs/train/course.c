#include "programs/train/course.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUOTED_SIZE = 2 * SAMPLE_SIZE + 4, LINE_SIZE = QUOTED_SIZE + 512 };

/* ---- writing the log ---- */

static void put(Log *log, const char *text, size_t length) {
    fwrite(text, 1, length, log->file);
    digest_add(&log->digest, text, length);
    log->length += length;
}

/* The old file is unlinked, not truncated: another name of it keeps its content. */
bool log_create(Log *log, const char *path, Error *err) {
    *log = (Log){.digest = digest_start()};
    filesystem_remove(path);
    log->file = file_stream(path, STREAM_CREATE, err);
    if (!log->file) return false;
    put(log, LOG_HEADING, strlen(LOG_HEADING));
    return true;
}

/* True if a spreadsheet would take the text, without apostrophes before it, for a formula. */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* Puts the text in quotes, and doubles the quotes in it (RFC 4180). An apostrophe before what looks
 * like a formula tells a spreadsheet that it is text; read_quoted removes it. */
static void quote(const char *text, char quoted[QUOTED_SIZE]) {
    char *to = quoted;
    *to++ = '"';
    if (like_formula(text)) *to++ = '\'';
    for (; *text && to - quoted + 4 < QUOTED_SIZE; text++) {
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
    if (row->sample) quote(row->sample, quoted);
    int length = snprintf(line, sizeof line, "%d,%.0f,%s,%s,%s,%s,%s,%.0f,%s%s%s\n", row->step,
                          row->characters, seconds, rate, loss, validation, norm, row->speed,
                          quoted, *compute ? "," : "", compute);
    put(log, line, (size_t)length);
}

bool log_flush(Log *log) {
    return fflush(log->file) == 0 && !ferror(log->file);
}

void log_close(Log *log) {
    if (log->file) fclose(log->file);
    log->file = NULL;
}

/* ---- reading rows ---- */

/* Reads a number and the comma after it; false if there is none. */
static bool read_number(const char **at, double *number) {
    char *end;
    *number = number_read(*at, &end);
    bool read = end > *at && fabs(*number) < 1e15; /* possible in a training */
    *at = end + (*end == ',');
    return read && *end == ',';
}

/* Reads the text in quotes, cut to fit; nothing if there are none. Returns the rest of the line. */
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

/* False if the line is not a row. `text` holds the row's sample. */
static bool read_row(const char *line, LogRow *row, char text[SAMPLE_SIZE]) {
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
    line = read_quoted(line, text);
    row->sample = *text ? text : NULL;
    char *end = NULL;
    double tera = *line == ',' ? number_read(line + 1, &end) : NAN;
    row->compute = end && *end == '\n' && tera >= 0 && tera < 1e15 ? tera * TERA : NAN;
    return true;
}

/* Calls `take` with each row of the log at `path`, in order; the row's sample is valid until it
 * returns. */
static void each_row(const char *path, void (*take)(void *context, const LogRow *row),
                     void *context) {
    char line[LINE_SIZE], text[SAMPLE_SIZE];
    LogRow row;
    Error none;
    FILE *file = file_stream(path, STREAM_READ, &none);
    if (!file) return;
    while (fgets(line, sizeof line, file))
        if (read_row(line, &row, text)) take(context, &row);
    fclose(file);
}

/* Rows with and without an evaluation are counted separately; every n-th of each kind is kept. */
typedef struct {
    LogRows *kept;
    long all[2], seen[2]; /* [evaluated] */
} Thinning;

static void count_row(void *context, const LogRow *row) {
    ((Thinning *)context)->all[!isnan(row->validation)]++;
}

static void keep_row(void *context, const LogRow *row) {
    Thinning *t = context;
    LogRows *kept = t->kept;
    bool evaluated = !isnan(row->validation);
    long all = t->all[evaluated], seen = t->seen[evaluated]++;
    if (kept->count == LOG_ROWS || (seen % ((all - 1) / LOG_KEPT + 1) != 0 && seen != all - 1))
        return;
    LogRow *to = &kept->rows[kept->count];
    char *text = kept->texts[kept->count++];
    *to = *row;
    if (row->sample) snprintf(text, SAMPLE_SIZE, "%s", row->sample);
    if (row->sample) to->sample = text;
}

void log_read(LogRows *log, const char *path) {
    Thinning thinning = {.kept = log};
    log->count = 0;
    each_row(path, count_row, &thinning);
    each_row(path, keep_row, &thinning);
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

/* Rows after the last save will be written again; the last of them may be incomplete. */
static bool only_rows_follow(FILE *file) {
    char line[LINE_SIZE], text[SAMPLE_SIZE];
    LogRow row;
    while (fgets(line, sizeof line, file))
        if (strchr(line, '\n') ? !read_row(line, &row, text) : *line < '0' || *line > '9')
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

/* ---- the curve of the training loss ---- */

/* Merges each pair of columns, which frees half of them. */
static void halve(Spark *spark) {
    for (int i = 0; i < SPARK_COLUMNS / 2; i++)
        spark->sums[i] = spark->sums[2 * i] + spark->sums[2 * i + 1];
    spark->count = SPARK_COLUMNS / 2;
    spark->each *= 2;
    spark->in_last = spark->each;
}

void spark_add(Spark *spark, double value) {
    if (spark->each == 0) spark->each = 1;
    if (spark->count > 0 && spark->in_last < spark->each) {
        spark->sums[spark->count - 1] += value;
        spark->in_last++;
        return;
    }
    if (spark->count == SPARK_COLUMNS) halve(spark);
    spark->sums[spark->count++] = value;
    spark->in_last = 1;
}

static double mean_of(const Spark *spark, int column) {
    return spark->sums[column] / (column + 1 < spark->count ? spark->each : spark->in_last);
}

void spark_text(const Spark *spark, char text[SPARK_SIZE]) {
    static const char blocks[][4] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { HEIGHTS = sizeof blocks / sizeof *blocks };
    double min = INFINITY, max = -INFINITY;
    for (int i = 0; i < spark->count; i++) {
        min = fmin(min, mean_of(spark, i));
        if (i >= spark->count / 4) max = fmax(max, mean_of(spark, i));
    }
    *text = 0;
    for (int i = 0; i < spark->count; i++) {
        double share = max > min ? (mean_of(spark, i) - min) / (max - min) : 0;
        int height = (int)(fmin(share, 1) * HEIGHTS);
        memcpy(text, blocks[height < HEIGHTS ? height : HEIGHTS - 1], sizeof *blocks);
        text += sizeof *blocks - 1; /* the next block overwrites the NUL */
    }
}

/* ---- the course: evaluations ---- */

/* Takes evaluation i out of the list. The mean training loss of the next one, `to`, includes its
 * steps. */
static void merge(const Course *c, int i, Evaluation *to) {
    const Evaluation *gone = &c->list[i];
    double before = gone->step - (i > 0 ? c->list[i - 1].step : 0), steps = to->step - gone->step;
    if (before > 0) to->loss = (gone->loss * before + to->loss * steps) / (before + steps);
}

static void keep_every_second(Course *c) {
    for (int i = COURSE_EVALUATIONS - 1; i > 0; i -= 2) merge(c, i - 1, &c->list[i]);
    c->count = 0;
    for (int i = 1; i < COURSE_EVALUATIONS; i += 2) c->list[c->count++] = c->list[i];
    c->every *= 2;
}

static void add_evaluation(Course *c, int step, double validation) {
    if (c->every == 0) c->every = 1;
    double loss = c->loss_count > 0 ? c->loss_sum / c->loss_count : NAN;
    Evaluation now = {step, loss, validation};
    bool lowest = c->evaluations == 0 || validation < c->lowest;
    if (c->evaluations % c->every != 0) merge(c, --c->count, &now);
    if (c->count == COURSE_EVALUATIONS) keep_every_second(c);
    c->list[c->count++] = now;
    c->evaluations++;
    c->since_lowest = lowest ? 0 : c->since_lowest + 1;
    c->loss_sum = c->loss_count = 0;
    if (!lowest) return;
    c->lowest = validation;
    c->lowest_loss = loss;
    c->lowest_step = step;
}

void course_begin(Course *c, double validation) {
    add_evaluation(c, 0, validation);
}

double course_validation(const Course *c, double step) {
    int i = 0;
    while (i < c->count && c->list[i].step < step) i++;
    if (i == c->count || (i == 0 && c->list[i].step > step)) return NAN;
    const Evaluation *after = &c->list[i], *before = i > 0 ? after - 1 : after;
    double between = after->step - before->step;
    double share = between > 0 ? (step - before->step) / between : 0;
    return before->validation + share * (after->validation - before->validation);
}

/* ---- the course: the training loss ---- */

/* Counts a loss that is farther above the block before than the chance of single batches goes. */
static void add_spike(Course *c, const LogRow *row) {
    const double far = 1, deviations = 8;
    double deviation = c->last.noise * sqrt(COURSE_BLOCK);
    if (c->last.step == 0 || row->loss < c->last.mean + fmax(far, deviations * deviation)) return;
    c->spikes++;
    c->spike_step = row->step;
    c->spike = row->loss;
    c->spike_of = c->last.mean;
    c->spike_rate = fmax(c->spike_rate, row->rate);
}

static void end_block(Course *c, const LogRow *row) {
    double mean = c->sum / COURSE_BLOCK;
    double variance = fmax(0, c->squares / COURSE_BLOCK - mean * mean);
    Block block = {mean, sqrt(variance / COURSE_BLOCK), row->step};
    if (c->last.step == 0) c->floor = block; /* the first one */
    if (mean - c->floor.mean > c->rise) {
        c->rise = mean - c->floor.mean;
        c->rise_of = c->floor.mean;
        c->rise_rate = row->rate;
        c->highest_rise = block;
    }
    if (mean < c->floor.mean) c->floor = block;
    c->last = block;
    c->sum = c->squares = c->in_block = 0;
}

void course_add(Course *c, const LogRow *row) {
    c->steps = row->step;
    c->characters = row->characters;
    c->compute = row->compute;
    c->loss_sum += row->loss;
    c->loss_count++;
    c->sum += row->loss;
    c->squares += row->loss * row->loss;
    spark_add(&c->losses, row->loss);
    add_spike(c, row);
    if (++c->in_block == COURSE_BLOCK) end_block(c, row);
    if (!isnan(row->validation)) add_evaluation(c, row->step, row->validation);
}

static void add_row(void *course, const LogRow *row) {
    course_add(course, row);
}

void course_read(Course *course, const char *path) {
    each_row(path, add_row, course);
}

/* NaN if the columns are too few to tell, or if the log lacks its beginning. */
static double training_loss(const Course *c, double share) {
    const Spark *s = &c->losses;
    int column = (int)(share * s->count), steps = s->each * (s->count - 1) + s->in_last;
    return s->count < SPARK_COLUMNS / 2 || steps < c->steps ? NAN : s->sums[column] / s->each;
}

double course_fall(const Course *c, double from, double to) {
    double fall = course_validation(c, from * c->steps) - course_validation(c, to * c->steps);
    return !isnan(fall) ? fall : training_loss(c, from) - training_loss(c, to);
}
