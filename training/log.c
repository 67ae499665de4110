#include "training/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a log that is there, and forgets what follows its first `length` bytes. */
static FILE *open_again(const char *path, size_t length) {
    struct stat status;
    FILE *log = fopen(path, "r+");
    if (!log) return NULL;
    if (fstat(fileno(log), &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size >= length && ftruncate(fileno(log), (off_t)length) == 0 &&
        fseeko(log, 0, SEEK_END) == 0)
        return log;
    fclose(log);
    return NULL;
}

bool log_open(FILE **log, const char *path, size_t length, Error *err) {
    *log = length > 0 ? open_again(path, length) : NULL;
    if (*log) return true;
    *log = fopen(path, "w");
    if (!*log) return fail(err, "%s: cannot be created: %s", path, strerror(errno));
    fputs("step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample\n", *log);
    return true;
}

/* Would a spreadsheet take it for a formula, or is it one behind apostrophes? */
static bool like_formula(const char *text) {
    text += strspn(text, "'");
    return *text && strchr("=+-@\t\r", *text);
}

/* In quotes, those within it doubled (RFC 4180). An apostrophe before what is like a formula makes
 * it a text to spreadsheets; it is taken away again when it is read. */
static void write_quoted(FILE *log, const char *text) {
    putc('"', log);
    if (like_formula(text)) putc('\'', log);
    for (; *text; text++) {
        if (*text == '"') putc('"', log);
        putc(*text, log);
    }
    putc('"', log);
}

void log_row(FILE *log, const LogRow *row) {
    fprintf(log, "%d,%.0f,%.3f,%.6g,%.6f,", row->step, row->characters, row->seconds, row->rate,
            row->loss);
    if (!isnan(row->validation)) fprintf(log, "%.6f", row->validation);
    fprintf(log, ",%.6g,%.0f,", row->norm, row->speed);
    if (row->excerpt) write_quoted(log, row->excerpt);
    putc('\n', log);
}

size_t log_flush(FILE *log) {
    off_t length = fflush(log) == 0 ? ftello(log) : -1;
    return length > 0 ? (size_t)length : 0;
}

/* ---- reading back ---- */

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
    enum { LINE = 2 * EXCERPT_ROOM + 512 };
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
