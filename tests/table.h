/* table.h - reads the table that `train` prints at the end: a row for each model. */
#ifndef TRIL_TABLE_H
#define TRIL_TABLE_H

#include "tests/command.h"

typedef struct {
    size_t parameters;
    double train, validation, bits, seconds; /* seconds: 0 of counting */
} Row;

static inline bool find_row(const char *name, Row *row) {
    char parameters[32], compute[32], seconds[32];
    double count = 0;
    const char *first = formatted("\n%-16s  ", name), *line = strstr(ran.out, first);
    if (!line || sscanf(line + strlen(first), "%31s %lf %lf %lf %31s %31s", parameters, &row->train,
                        &row->validation, &row->bits, compute, seconds) != 6)
        return false;
    bool counted = strcmp(parameters, "-") == 0 && strcmp(seconds, "-") == 0;
    if (!counted && (numbers_of(parameters, &count, 1) != 1 || *seconds < '0' || *seconds > '9'))
        fail_msg("%s: parameters '%s', seconds '%s'", name, parameters, seconds);
    row->parameters = (size_t)count;
    row->seconds = strtod(seconds, NULL);
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

/* The loss with which a training run from a model begins. */
static inline double first_loss(void) {
    double loss;
    assert_int_equal(numbers_of(after("\n  begins with "), &loss, 1), 1);
    return loss;
}

#endif
