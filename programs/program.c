#include "programs/program.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/options.h"
#include "base/terminal.h"
#include "library/version.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void program_usage(const char *path, const char *arguments, const char *purpose) {
    fputs("Usage: ", stdout);
    escape_line(stdout, path, strlen(path));
    printf(" %s\n\n", arguments);
    escape_words(stdout, purpose, 0, 0, options_columns(stdout));
    putchar('\n');
}

int program_version(void) {
    printf("tril %s\n", TRIL_VERSION);
    return EXIT_SUCCESS;
}

int program_failed(const char *name, int status, const Error *err) {
    const int window = terminal_is(stderr) ? terminal_columns(stderr) : 0, hang = 4;
    fflush(stdout);
    escape_words(stderr, err->text, fprintf(stderr, "%s: ", name), hang,
                 window > 0 ? window : INT_MAX);
    fputc('\n', stderr);
    return status;
}

void program_describe(const TrilModel *model, const char *path, char about[ABOUT_SIZE]) {
    const char *text = tril_model_note(model, "text_name");
    char date[FILE_DATE], loss[32] = "unknown";
    file_date(path, date);
    if (!isnan(tril_model_loss(model))) snprintf(loss, sizeof loss, "%.4f", tril_model_loss(model));
    snprintf(about, ABOUT_SIZE, "text %s, model %s, held-out loss %s, %s", text ? text : "unknown",
             tril_model_sizes(model).rung, loss, date);
}

void program_divert(bool to_errors) {
    static int output = -1; /* standard output, while diverted */
    fflush(stdout);
    if (to_errors) {
        output = dup(STDOUT_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
    } else if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        close(output);
        output = -1;
    }
}
