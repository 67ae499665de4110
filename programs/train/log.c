#include "programs/train/log.h"
#include "base/file.h"
#include "base/number.h"
#include "base/world.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { QUOTED_SIZE = 2 * SAMPLE_SIZE + 4, LINE_SIZE = QUOTED_SIZE + 512 };

static const char heading[] =
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n";

/* ---- writing ---- */

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
    row->speed = round(row->speed);
    row->compute = TERA * (round(tera * scale) / scale);
}

void log_row(FILE *log, LogRow *row) {
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
    fwrite(line, 1, (size_t)length, log);
    round_row(row);
    row->rate = number_read(rate, NULL);
    row->norm = number_read(norm, NULL);
}

bool log_has_row(int step) {
    int every = 1;
    while (step / every >= 10000) every *= 2;
    return step % every == 0;
}

bool log_flush(FILE *log) {
    return fflush(log) == 0 && !ferror(log);
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

/* ---- opening ---- */

/* Sets *kept to the length of the log up to the row of `step`. Fails for a line that is no row; the
 * last line may be incomplete. */
static bool check_rows(FILE *log, const char *path, int step, off_t *kept, Error *err) {
    char line[LINE_SIZE];
    LogRow row = {.step = 0};
    for (int number = 1; fgets(line, sizeof line, log); number++) {
        const bool whole = strchr(line, '\n') != NULL;
        const bool known = number == 1 ? strncmp(line, heading, strlen(line)) == 0
                           : whole     ? read_row(line, &row)
                                       : strspn(line, "0123456789") > 0;
        if (!known)
            return fail(err,
                        "%s: line %d is no row of a log; rename it, and ./train begins a new log",
                        path, number);
        if (whole && row.step <= step) *kept = ftello(log);
    }
    return !ferror(log) || fail(err, "%s: cannot be read: %s", path, strerror(errno));
}

bool log_open(FILE **log, const char *path, int step, Error *err) {
    off_t kept = 0;
    *log = NULL;
    if (world_rank() > 0) { /* only the first process keeps a log */
        *log = fopen("/dev/null", "w");
        return *log || fail(err, "/dev/null: cannot be opened: %s", strerror(errno));
    }
    if (file_kind(path) == FILE_NONE && !file_write(path, NULL, 0, err)) return false;
    FILE *file = file_stream(path, true, err);
    if (!file) return false;
    bool ok = check_rows(file, path, step, &kept, err);
    if (ok && !(ftruncate(fileno(file), kept) == 0 && fseeko(file, kept, SEEK_SET) == 0 &&
                (kept > 0 || (fputs(heading, file) >= 0 && log_flush(file)))))
        ok = fail(err, "%s: cannot be written: %s", path, strerror(errno));
    if (ok)
        *log = file;
    else
        fclose(file);
    return ok;
}
