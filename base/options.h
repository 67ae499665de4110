/* options.h - the command line. One table drives parsing, checks and --help. */
#ifndef TRIL_BASE_OPTIONS_H
#define TRIL_BASE_OPTIONS_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

/* The kinds of TrilKind (tril.h), and those that only programs have. */
typedef enum {
    OPTION_WHOLE = TRIL_WHOLE, /* double, a whole number */
    OPTION_REAL = TRIL_REAL,   /* finite */
    OPTION_TIME = TRIL_TIME,
    OPTION_TEXT = TRIL_NAME, /* any text; points into argv */
    OPTION_FLAG = TRIL_FLAG, /* no argument; set to true */
    OPTION_SEED = TRIL_SEED,
    OPTION_INT,    /* int, from min to max */
    OPTION_PATH,   /* const char *, as OPTION_TEXT, with slashes (filesystem_slash) */
    OPTION_SECTION /* a heading in --help, its text in `help` */
} OptionKind;

typedef struct {
    char letter;          /* its short name, if it has one */
    const char *name;     /* without the dashes */
    OptionKind kind;      /* also the type of *value */
    void *value;          /* the default, if there is one; parsing overwrites it */
    double min, max;      /* the range of every number but OPTION_SEED */
    const char *argument; /* its name in --help, e.g. "N" */
    const char *help;     /* one line */
} Option;

/* Parses argv with getopt_long: options may stand anywhere, long names may be abbreviated, `--`
 * ends the options (with POSIXLY_CORRECT set, so does the first operand). Moves the operands, which
 * are paths, to the end of argv and sets *first to the index of the first, and bit i of *given for
 * each option i that was given. Fails for an unknown option, a missing value, and a value that is
 * no number or out of range. Not thread-safe. */
bool options_parse(const Option *options, int count, int argc, char **argv, int *first,
                   uint64_t *given, Error *err);

/* Reads the value of an option; of a flag, 0 or 1. OPTION_TEXT and OPTION_PATH keep `text` itself.
 * Fails if it is not a number or is out of range. */
bool option_read(const Option *option, const char *text, Error *err);

/* Writes the value of an option as option_read reads it. */
void option_write(const Option *option, char *text, size_t size);

/* Returns the columns of --help: those of the terminal, at most 80. */
int options_columns(FILE *out);

/* Prints each option's entry of --help, with its value as the default: call it before parsing. */
void options_print(FILE *out, const Option *options, int count);

#endif
