#include "training/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUOTED_ROOM = 2 * EXCERPT_ROOM + 4, LINE = QUOTED_ROOM + 512 };

/* ---- writing ---- */

static void put(Log *log, const char *text, size_t length) {
    fwrite(text, 1, length, log->file);
    digest_add(&log->digest, text, length);
    log->length += length;
}

/* Opened anew, and not cut short: another name of the old file keeps what it has. */
bool log_create(Log *log, const char *path, Error *err) {
    *log = (Log){.digest = digest_start()};
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0) log->file = fdopen(file, "w");
    if (!log->file) {
        int why = errno;
        if (file >= 0) close(file);
        return fail(err, "%s: cannot be created: %s", path, strerror(why));
    }
    put(log, LOG_HEADING, strlen(LOG_HEADING));
    return true;
}

/* Would a spreadsheet take it for a formula, or is it one behind apostrophes? */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* In quotes, those within it doubled (RFC 4180). An apostrophe before what is like a formula makes
 * it a text to spreadsheets; it is taken away again when it is read. */
static size_t quote(const char *text, char quoted[QUOTED_ROOM]) {
    size_t length = 0;
    quoted[length++] = '"';
    if (like_formula(text)) quoted[length++] = '\'';
    for (; *text && length + 3 < QUOTED_ROOM; text++) {
        if (*text == '"') quoted[length++] = '"';
        quoted[length++] = *text;
    }
    quoted[length++] = '"';
    return length;
}

void log_row(Log *log, const LogRow *row) {
    enum { FIGURES = 256 };
    char line[FIGURES + QUOTED_ROOM];
    int length = snprintf(line, FIGURES, "%d,%.0f,%.3f,%.6g,%.6f,", row->step, row->characters,
                          row->seconds, row->rate, row->loss);
    if (!isnan(row->validation))
        length += snprintf(line + length, (size_t)(FIGURES - length), "%.6f", row->validation);
    length +=
        snprintf(line + length, (size_t)(FIGURES - length), ",%.6g,%.0f,", row->norm, row->speed);
    size_t all = (size_t)length;
    if (row->excerpt) all += quote(row->excerpt, line + all);
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

/* A number and the comma behind it; false where there is none. */
static bool read_number(const char **at, double *number) {
    char *end;
    *number = strtod(*at, &end);
    bool read = end > *at && fabs(*number) < 1e15; /* a figure that a training can come to */
    *at = end + (*end == ',');
    return read && *end == ',';
}

/* What stands in quotes, cut to fit. */
static void read_quoted(const char *at, char text[EXCERPT_ROOM]) {
    int length = 0;
    if (*at == '"') at++;
    if (*at == '\'' && like_formula(at)) at++;
    for (; *at && *at != '\n' && length + 1 < EXCERPT_ROOM; at++) {
        if (*at == '"' && *++at != '"') break;
        text[length++] = *at;
    }
    text[length] = 0;
}

static bool read_row(const char *line, LogRow *row, char text[EXCERPT_ROOM]) {
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
    read_quoted(line, text);
    row->excerpt = *text ? text : NULL;
    return true;
}

/* ---- going on ---- */

/* The bytes that the digest is of: false if the file ends before. */
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

/* Rows from after the last save are written again; the last one may have been cut short. */
static bool only_rows_follow(FILE *file) {
    char line[LINE], text[EXCERPT_ROOM];
    LogRow row;
    while (fgets(line, sizeof line, file))
        if (strchr(line, '\n') ? !read_row(line, &row, text) : *line < '0' || *line > '9')
            return false;
    return !ferror(file);
}

bool log_reopen(Log *log, const char *path, size_t length, uint64_t digest) {
    struct stat status;
    int file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *log = (Log){.length = length};
    if (file < 0) return false;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        !(log->file = fdopen(file, "r+"))) {
        close(file);
        return false;
    }
    if (read_known(log->file, length, &log->digest) && digest_value(&log->digest) == digest &&
        only_rows_follow(log->file) && ftruncate(file, (off_t)length) == 0 &&
        fseeko(log->file, 0, SEEK_END) == 0)
        return true;
    log_close(log);
    return false;
}

/* ---- reading back ---- */

/* Every row but those with an evaluation are counted on their own; every so many is kept. */
typedef struct {
    long all[2], seen[2]; /* of each kind */
} Thinning;

static bool is_kept(Thinning *thinning, bool evaluated) {
    long all = thinning->all[evaluated], seen = thinning->seen[evaluated]++;
    return seen % ((all - 1) / LOG_KEPT + 1) == 0 || seen == all - 1;
}

static FILE *open_regular(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL; /* a pipe would wait */
    return fopen(path, "r");
}

void log_read(LogRows *log, const char *path) {
    char line[LINE], text[EXCERPT_ROOM];
    Thinning thinning = {0};
    LogRow row;
    log->count = 0;
    FILE *file = open_regular(path);
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
