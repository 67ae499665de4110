#include "programs/train/log.h"
#include "base/file.h"
#include "base/filesystem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUOTED_SIZE = 2 * SAMPLE_SIZE + 4, LINE_SIZE = QUOTED_SIZE + 512, NUMBER = 32 };

/* ---- writing ---- */

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

/* Would a spreadsheet take the text, without apostrophes before it, for a formula? */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* Puts the text in quotes, and doubles the quotes in it (RFC 4180). An apostrophe before what looks
 * like a formula tells a spreadsheet that it is text; read_quoted removes it. */
static size_t quote(const char *text, char quoted[QUOTED_SIZE]) {
    size_t length = 0;
    quoted[length++] = '"';
    if (like_formula(text)) quoted[length++] = '\'';
    for (; *text && length + 3 < QUOTED_SIZE; text++) {
        if (*text == '"') quoted[length++] = '"';
        quoted[length++] = *text;
    }
    quoted[length++] = '"';
    return length;
}

void log_row(Log *log, const LogRow *row) {
    enum { FIGURES = 256 };
    char line[FIGURES + QUOTED_SIZE];
    int length = snprintf(line, FIGURES, "%d,%.0f,%.3f,%.6g,%.6f,", row->step, row->characters,
                          row->seconds, row->rate, row->loss);
    if (!isnan(row->validation))
        length += snprintf(line + length, (size_t)(FIGURES - length), "%.6f", row->validation);
    length +=
        snprintf(line + length, (size_t)(FIGURES - length), ",%.6g,%.0f,", row->norm, row->speed);
    size_t all = (size_t)length;
    if (row->sample) all += quote(row->sample, line + all);
    if (!isnan(row->compute))
        all += (size_t)snprintf(line + all, NUMBER, ",%.6g", row->compute / TERA);
    line[all++] = '\n';
    put(log, line, all);
}

bool log_flush(Log *log) {
    return fflush(log->file) == 0 && !ferror(log->file);
}

void log_close(Log *log) {
    if (log->file) fclose(log->file);
    log->file = NULL;
}

/* ---- rows ---- */

/* Reads a number and the comma after it; false if there is none. */
static bool read_number(const char **at, double *number) {
    char *end;
    *number = strtod(*at, &end);
    bool read = end > *at && fabs(*number) < 1e15; /* possible in a training */
    *at = end + (*end == ',');
    return read && *end == ',';
}

/* Reads the text in quotes, cut to fit; nothing if there are none. Returns what follows. */
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

/* The last field; older logs end before it. NaN: no such number. */
static double read_compute(const char *line) {
    char *end;
    if (*line != ',') return NAN;
    double tera = strtod(line + 1, &end);
    return *end == '\n' && tera >= 0 && tera < 1e15 ? tera * TERA : NAN;
}

static bool read_row(const char *line, LogRow *row, char text[SAMPLE_SIZE]) {
    double step;
    if (!read_number(&line, &step) || !(step >= 1 && step <= 1e9) ||
        !read_number(&line, &row->characters) || !read_number(&line, &row->seconds) ||
        !read_number(&line, &row->rate) || !read_number(&line, &row->loss))
        return false;
    row->step = (int)step;
    row->validation = NAN;
    if (*line == ',')
        line++;
    else if (!read_number(&line, &row->validation))
        return false;
    if (!read_number(&line, &row->norm) || !read_number(&line, &row->speed)) return false;
    line = read_quoted(line, text);
    row->sample = *text ? text : NULL;
    row->compute = read_compute(line);
    return true;
}

/* ---- continuing ---- */

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

/* ---- reading back ---- */

/* Rows with and without an evaluation are counted separately; every n-th of each kind is kept. */
typedef struct {
    long all[2], seen[2]; /* [evaluated] */
} Thinning;

static bool is_kept(Thinning *thinning, bool evaluated) {
    long all = thinning->all[evaluated], seen = thinning->seen[evaluated]++;
    return seen % ((all - 1) / LOG_KEPT + 1) == 0 || seen == all - 1;
}

void log_each(const char *path, void (*take)(void *context, const LogRow *row), void *context) {
    char line[LINE_SIZE], text[SAMPLE_SIZE];
    LogRow row;
    Error none;
    FILE *file = file_stream(path, STREAM_READ, &none);
    if (!file) return;
    while (fgets(line, sizeof line, file))
        if (read_row(line, &row, text)) take(context, &row);
    fclose(file);
}

void log_read(LogRows *log, const char *path) {
    char line[LINE_SIZE], text[SAMPLE_SIZE];
    Thinning thinning = {0};
    LogRow row;
    Error none;
    log->count = 0;
    FILE *file = file_stream(path, STREAM_READ, &none);
    if (!file) return;
    while (fgets(line, sizeof line, file))
        if (read_row(line, &row, text)) thinning.all[!isnan(row.validation)]++;
    rewind(file);
    while (fgets(line, sizeof line, file) && log->count < LOG_ROWS) {
        char *kept = log->texts[log->count];
        if (read_row(line, &row, kept) && is_kept(&thinning, !isnan(row.validation)))
            log->rows[log->count++] = row;
    }
    fclose(file);
}
