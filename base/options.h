/* options.h - the command line: one table drives the parsing, the checks and --help. */
#ifndef TRIL_OPTIONS_H
#define TRIL_OPTIONS_H

#include "base/error.h"

#include <stdio.h>

typedef enum {
    OPTION_FLAG,   /* bool: no argument; set to true */
    OPTION_INT,    /* int, from least to most */
    OPTION_SEED,   /* uint64_t, any */
    OPTION_REAL,   /* double, finite, from least to most */
    OPTION_TIME,   /* double, seconds, from least to most: 90, 90s, 5m or 2h */
    OPTION_TEXT,   /* const char *, pointing into argv */
    OPTION_SECTION /* no option: `help` is a heading in --help */
} OptionKind;

typedef struct {
    char letter;          /* 0: the option has a long name only */
    const char *name;     /* without the dashes */
    OptionKind kind;      /* says what `value` points to */
    void *value;          /* holds the default before, the choice after */
    double least, most;   /* of OPTION_INT, OPTION_REAL and OPTION_TIME */
    const char *argument; /* its name in --help, e.g. "N" */
    const char *help;     /* one line */
} Option;

/* Reads argv in the manner of GNU getopt_long, but without its global state: options may stand
 * anywhere, long names may be cut short, `--` ends them. Numbers are parsed whole and
 * range-checked. Moves the operands to the end of argv and sets *first to the first of them. On
 * failure the sentence says what was expected, or which known option an unknown one resembles. */
bool options_parse(const Option *options, int count, int argc, char **argv, int *first, Error *err);

/* Writes the option of that name, with its value, as one word that options_parse reads back:
 * "--width=128". Returns its length, which is 0, and the text empty, for a flag that is off, a text
 * that is NULL and a number below its range. Cut if there is no room. */
size_t option_word(const Option *options, int count, const char *name, char *text, size_t room);

/* Prints one line for each option, with its default. Reads the values: call it before parsing. */
void options_print(FILE *out, const Option *options, int count);

#endif
