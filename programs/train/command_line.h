/* command_line.h - the command line of ./train. */
#ifndef TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H
#define TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H

#include "base/error.h"
#include "library/tril.h"

/* Texts are borrowed from the command line, or constants, or NULL if not given. */
typedef struct {
    char **command; /* the arguments; NULL ends them */
    int count;
    double begun;        /* clock_seconds() when they were read */
    TrilOptions options; /* those that were given; the seed is always set */
    char *const *texts;  /* [text_count], files and folders as named; "-" is standard input */
    int text_count;
    const char *init, *out, *preset;
    bool ladder, resume, continues /* --continue */, profile, quiet, help, version;
} Arguments;

/* Reads the command line. Fails where options_parse fails and, without --help and --version, for an
 * unknown preset, no text, and options that contradict each other. */
bool command_line_read(Arguments *arguments, int argc, char **argv, Error *err);

/* Sets the options of the preset, then those of the command line. If they give a number of steps,
 * unsets an earlier time limit. */
bool command_line_over(const Arguments *arguments, TrilOptions *options, Error *err);

/* Sets *options to those of a resumed training run: `before`, overridden by the command line. With
 * --continue the training gets no fewer steps and no less time than before. `ladder`: it was begun
 * with --ladder. Fails for a change of an option that cannot change. */
bool command_line_resume(const Arguments *arguments, const TrilOptions *before, bool ladder,
                         TrilOptions *options, Error *err);

/* Prints the options with their defaults. */
void command_line_print_options(void);

#endif
