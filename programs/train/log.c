#include "programs/train/log.h"
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

static void round_row(LogRow *row) {
    const double tera = row->compute / TERA,
                 scale = tera > 0 ? pow(10, 5 - floor(log10(tera))) : 1; /* six digits */
    row->loss = round(row->loss * 1e6) / 1e6;
    row->validation = round(row->validation * 1e6) / 1e6;
    row->seconds = round(row->seconds * 1e3) / 1e3;
    row->compute = TERA * (round(tera * scale) / scale);
}

void log_row(Log *log, LogRow *row) {
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
    round_row(row);
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

bool log_read(FILE *log, LogRow *row) {
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, log))
        if (read_row(line, row)) return true;
    return false;
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
