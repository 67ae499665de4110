/* options.h - the command line. One table drives parsing, checks and --help. */
#ifndef TRIL_BASE_OPTIONS_H
#define TRIL_BASE_OPTIONS_H

#include "base/error.h"

#include <stdio.h>

typedef enum {
    OPTION_FLAG,   /* bool: no argument; set to true */
    OPTION_INT,    /* int, from min to max */
    OPTION_WHOLE,  /* double, a whole number from min to max; NaN: unset */
    OPTION_SEED,   /* uint64_t, any */
    OPTION_REAL,   /* double, finite, from min to max */
    OPTION_TIME,   /* double, seconds, from min to max: 90, 90s, 5m or 2h */
    OPTION_TEXT,   /* const char *, pointing into argv */
    OPTION_PATH,   /* the same, with slashes (filesystem_slash) */
    OPTION_SECTION /* no option: `help` is a heading in --help */
} OptionKind;

typedef struct {
    char letter;          /* 0: the option has a long name only */
    const char *name;     /* without the dashes */
    OptionKind kind;      /* says what `value` points to */
    void *value;          /* holds the default; parsing stores the choice */
    double min, max;      /* of OPTION_INT, OPTION_REAL and OPTION_TIME */
    const char *argument; /* its name in --help, e.g. "N" */
    const char *help;     /* one line */
} Option;

/* Parses argv as GNU getopt_long does, but without global state. Options may stand anywhere. Long
 * names may be abbreviated. `--` ends the options. A number must be a whole argument and in range.
 * Moves the operands, which are paths, to the end of argv and sets *first to the index of the
 * first. On failure the message says what was expected, or which known option resembles an unknown
 * one. */
bool options_parse(const Option *options, int count, int argc, char **argv, int *first, Error *err);

/* Reads a value of one option, which is no flag and no path, as on the command line. */
bool option_read(const Option *option, const char *text, Error *err);

/* Prints a name and the text about it. Where a line would have more than 100 columns, the text goes
 * on in the next one. Of ASCII. */
void options_print_entry(FILE *out, const char *name, const char *text);

/* Prints such an entry for each option, with its default. Prints current values: call it before
 * parsing. */
void options_print(FILE *out, const Option *options, int count);

#endif
