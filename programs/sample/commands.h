/* commands.h - the commands of a dialogue: lines that begin with a slash. */
#ifndef TRIL_PROGRAMS_SAMPLE_COMMANDS_H
#define TRIL_PROGRAMS_SAMPLE_COMMANDS_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

/* What commands change. */
typedef struct {
    TrilSampling sampling; /* but the length */
    int length;
} Settings;

typedef enum { COMMAND_SET, COMMAND_NEW, COMMAND_HELP } Command;

/* Carries out a line such as "/temperature 0.5" (without its newline): changes *settings, or sets
 * *command to what the caller is to do. Refused: an unknown command, a wrong value. */
bool command_read(Command *command, Settings *settings, const char *line, Error *err);

/* Lists the commands with the present values. */
void command_print_help(FILE *out, const Settings *settings);

#endif
