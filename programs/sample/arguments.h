/* arguments.h - the command line of ./sample. */
#ifndef TRIL_PROGRAMS_SAMPLE_ARGUMENTS_H
#define TRIL_PROGRAMS_SAMPLE_ARGUMENTS_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

typedef struct {
    char *const *checkpoints; /* [count], as named */
    int count;
    const char *prompt, *stop; /* may be NULL */
    int length, samples;
    TrilSampling sampling; /* but its length */
    const char *precision; /* as named, or NULL: of the weights or of an export */
    /* at most one of these instead of writing; NULL or false: not requested */
    bool interactive, info;
    const char *score, *explain, *export;
    const char *unknown; /* for score: one of refuse, skip, uniform; NULL: refuse */
    TrilScoring scoring; /* for score */
    int layer, head;     /* for explain; negative: those that moved the prediction most */
    const char *html;    /* for explain: the page to write; NULL: none */
    bool help, version;
} Arguments;

/* Reads the command line. Fails where options_parse fails, on options that exclude each other, and
 * on an unknown name of --precision or --unknown; but with --help or --version only on the first.
 */
bool arguments_read(Arguments *a, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void arguments_print_options(FILE *out);

/* Returns the path of checkpoint i of those that were named, or of the usual one. NULL if that is
 * missing: the message says where one may come from. */
const char *arguments_checkpoint(const Arguments *a, int i, Error *err);

/* Sets an option that a dialogue can change, by its name: temperature, length, top-k, top-p or
 * seed. */
bool arguments_set(Arguments *a, const char *name, const char *value, Error *err);

/* Prints these names with their current values. */
void arguments_print_settings(FILE *out, const Arguments *a);

#endif
