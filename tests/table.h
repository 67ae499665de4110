/* table.h - reads the table that `train` prints at the end: a row for each model. */
#ifndef TRIL_TABLE_H
#define TRIL_TABLE_H

#include "tests/command.h"

#include <math.h>

/* Parses 1,234,567. *end is the text after it. */
static inline size_t ungrouped(const char *text, const char **end) {
    size_t number = 0;
    for (; (*text >= '0' && *text <= '9') || *text == ','; text++)
        if (*text != ',') number = 10 * number + (size_t)(*text - '0');
    *end = text;
    return number;
}

static const char heading[] =
    "\nmodel             parameters    train  validation  bits/char   TFLOP  seconds\n";

typedef struct {
    size_t parameters;
    double train, validation, bits;
} Row;

static inline bool find_row(const char *name, Row *row) {
    char first[40], parameters[32], compute[32], seconds[32];
    const char *end;
    snprintf(first, sizeof first, "\n%-16s  ", name);
    const char *line = strstr(after(heading) - 1, first);
    if (!line) return false;
    if (sscanf(line + strlen(first), "%31s %lf %lf %lf %31s %31s", parameters, &row->train,
               &row->validation, &row->bits, compute, seconds) != 6)
        fail_msg("not a row of the table: %s", line);
    row->parameters = ungrouped(parameters, &end);
    bool counted = strcmp(parameters, "-") == 0 && strcmp(seconds, "-") == 0;
    if (!counted && (*end || !row->parameters || *seconds < '0' || *seconds > '9'))
        fail_msg("%s: parameters '%s', seconds '%s'", name, parameters, seconds);
    return true;
}

/* Reads a row of the table and checks its figures. */
static inline Row row_of(const char *name) {
    Row row;
    if (!find_row(name, &row)) fail_msg("%s: no row '%s' in:\n%s", ran.command, name, ran.out);
    assert_true(row.train > 0 && row.validation > 0);
    assert_near(row.bits, row.validation / log(2.0), 6e-4);
    return row;
}

/* Reads the row of a model, and checks that its loss is below ln V. */
static inline Row learned(const char *name) {
    Row row = row_of(name), uniform = row_of("uniform");
    assert_true(row.train < uniform.train - 0.02 && row.validation < uniform.validation - 0.02);
    return row;
}

#endif
