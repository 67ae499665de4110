/* command_line.h - the command line of ./train. */
#ifndef TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H
#define TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

/* Texts are borrowed from the command line, or are constants; NULL: not given. */
typedef struct {
    char **command; /* the arguments; NULL ends them */
    int count;
    double begun;        /* clock_seconds() when they were read */
    TrilOptions options; /* those that were given; the seed is always set */
    const char *input, *init, *teacher, *out, *log, *preset;
    bool ladder, resume, continues /* --continue */, profile, quiet, help, version;
} Arguments;

/* Reads the command line. Fails for what options_parse does not take, an unknown preset, no text or
 * several, options that contradict each other. With --help or --version nothing else is checked. */
bool command_line_read(Arguments *arguments, int argc, char **argv, Error *err);

/* Sets the options that the preset and then the command line give. Steps and a time limit are two
 * ways to say how long: with steps, an earlier time limit is unset. */
bool command_line_over(const Arguments *arguments, TrilOptions *options, Error *err);

/* Sets *options to those of a training that is resumed: `before`, and over them the command line.
 * With
 * --continue it takes no fewer steps and no less time than before. `ladder`: it is one of --ladder.
 * Fails for a change of what a resumed training cannot change. */
bool command_line_resume(const Arguments *arguments, const TrilOptions *before, bool ladder,
                         TrilOptions *options, Error *err);

/* Prints the options with their defaults to `out`. */
void command_line_print_options(FILE *out);

#endif
