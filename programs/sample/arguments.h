/* arguments.h - the command line of ./sample. */
#ifndef TRIL_PROGRAMS_SAMPLE_ARGUMENTS_H
#define TRIL_PROGRAMS_SAMPLE_ARGUMENTS_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

typedef struct {
    char *const *checkpoints; /* [count], as named */
    int count;
    const char *prompt, *stop;  /* may be NULL */
    int length, samples, lines; /* lines: 0 to write texts */
    bool new_lines;             /* only those that the model's text lacks */
    TrilSampling sampling;      /* except its length */
    const char *precision;      /* of the weights or of an export, as given; or NULL */
    /* at most one of these is given (not NULL or false) instead of writing */
    bool interactive, info;
    const char *score, *explain, *export;
    const char *unknown; /* for score: refuse, skip or uniform; NULL counts as refuse */
    TrilScoring scoring; /* for score */
    int layer, head;     /* for explain, or ANY of explain.h */
    int steps;           /* for explain, to print, or ANY for all */
    const char *html;    /* for explain: the page to write, or NULL */
    bool json, help, version;
} Arguments;

/* Reads the command line. Fails where options_parse fails, for options that exclude each other, and
 * for an unknown name of --precision or --unknown. With --help or --version only options_parse can
 * fail. */
bool arguments_read(Arguments *a, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void arguments_print_options(FILE *out);

/* Returns the path of checkpoint i, or of the default one if none is named. Returns NULL if that is
 * missing; the message then says how to get one. */
const char *arguments_checkpoint(const Arguments *a, int i, Error *err);

/* Sets an option that a dialogue can change, by its name: temperature, length, top-k, top-p or
 * seed. */
bool arguments_set(Arguments *a, const char *name, const char *value, Error *err);

/* Prints those options with their current values. */
void arguments_print_settings(FILE *out, const Arguments *a);

#endif
