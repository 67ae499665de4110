#include "programs/common.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/number.h"
#include "base/options.h"
#include "base/terminal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

enum { FIGURE_SIZE = 48 };

/* Returns one of eight buffers in rotation. */
static char *number_text(void) {
    static char texts[8][FIGURE_SIZE];
    static int next;
    return texts[next++ % 8];
}

const char *grouped(double number) {
    char plain[FIGURE_SIZE], *text = number_text();
    int digits = snprintf(plain, sizeof plain, "%.0f", fmin(floor(number), 1e18)), to = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0) text[to++] = ',';
        text[to++] = plain[i];
    }
    text[to] = 0;
    return text;
}

const char *count_of(double number, const char *noun) {
    char *text = number_text();
    snprintf(text, FIGURE_SIZE, "%s %s%s", grouped(number), noun, number == 1 ? "" : "s");
    return text;
}

const char *figure(double value, int digits) {
    char *text = number_text();
    const double huge = 1e6;
    if (isnan(value))
        snprintf(text, FIGURE_SIZE, "-");
    else if (fabs(value) >= huge)
        snprintf(text, FIGURE_SIZE, "%.3g", value);
    else
        number_write(text, FIGURE_SIZE, 'f', digits, value);
    return text;
}

const char *figure_tera(double tera) {
    return figure(tera, tera < 0.0095 ? 4 : tera < 95 ? 2 : 0);
}

/* ---- lines ---- */

void program_usage(const char *path, const char *arguments, const char *purpose) {
    fputs("Usage: ", stdout);
    escape_print(stdout, path, strlen(path), "");
    putchar(' ');
    program_words(stdout, (int)strlen(path) + 8, 4, arguments);
    putchar('\n');
    escape_words(stdout, purpose, 0, 0, options_columns(stdout));
    putchar('\n');
}

void program_words(FILE *out, int column, int hang, const char *text) {
    escape_words(out, text, column, hang, terminal_columns(out, INT_MAX));
    fputc('\n', out);
}

int program_version(const char *name) {
    printf("tril %s\n", tril_version());
    return program_printed(name);
}

int program_printed(const char *name) {
    Error err = {0};
    return file_flush_output(&err) ? EXIT_SUCCESS : program_failed(name, EXIT_FAILURE, &err);
}

int program_failed(const char *name, int status, const Error *err) {
    fflush(stdout);
    program_words(stderr, fprintf(stderr, "%s: ", name), 4, err->text);
    return status;
}

bool program_read(const char *named, char **bytes, size_t *length, Error *err) {
    return strcmp(named, "-") == 0 ? file_read_input(bytes, length, err)
                                   : file_read(named, bytes, length, err);
}

const char *program_source(const char *named) {
    return strcmp(named, "-") == 0 ? "standard input" : named;
}

void program_model(const char *named, char path[PROGRAM_PATH]) {
    snprintf(path, PROGRAM_PATH, "%s%s", named,
             file_kind(named) == FILE_FOLDER ? "/" PROGRAM_MODEL : "");
}
