/* command_line.h - the command line of ./train. */
#ifndef TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H
#define TRIL_PROGRAMS_TRAIN_COMMAND_LINE_H

#include "base/error.h"
#include "library/programs.h"

/* Texts are borrowed from the command line, or constants, or NULL if not given. */
typedef struct {
    char **command; /* the arguments; NULL ends them */
    int count;
    double begun;        /* world_seconds() when they were read */
    TrilOptions options; /* those that were given */
    bool seeded;         /* the seed was given; without it, options.seed is the default */
    char *const *texts;  /* [text_count], files as named; "-" is standard input */
    int text_count;
    const char *init, *out, *preset, *val_file;
    bool ladder, resume, continues /* --continue */, profile, quiet, help, version;
} Arguments;

/* Reads the command line. Fails where options_parse fails and, without --help and --version, for an
 * unknown preset, no text, and options that contradict each other. */
bool command_line_read(Arguments *arguments, int argc, char **argv, Error *err);

typedef enum { OVER_DEFAULTS, OVER_MODEL, OVER_RUN } OptionBase;

/* Lays the preset and then the options given over *options: the defaults, the sizes of --init's
 * model, or the options of a resumed run. Steps end an earlier time limit, and the other way
 * around. With --continue the run gets no fewer steps, or no less time, than before. Fails for an
 * unknown preset and, over a model or a run, for a change of an option that is fixed. */
bool command_line_apply(const Arguments *arguments, OptionBase over, TrilOptions *options,
                        Error *err);

/* Prints the options with their defaults. */
void command_line_print_options(void);

#endif
