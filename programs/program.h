/* program.h - the lines that both ./train and ./sample print. */
#ifndef TRIL_PROGRAMS_PROGRAM_H
#define TRIL_PROGRAMS_PROGRAM_H

#include "base/error.h"
#include "library/tril.h"

/* The model that ./train writes and ./sample reads unless the command line names another. */
#define PROGRAM_MODEL "out/model.safetensors"

enum { EXIT_USAGE = 2, ABOUT_SIZE = 2048 };

/* Prints the usage of the program at `path`. */
void program_usage(const char *path, const char *arguments, const char *purpose);

/* Prints the version. Returns EXIT_SUCCESS. */
int program_version(void);

/* Prints the message of the program `name`, after all other output. Returns `status`. */
int program_failed(const char *name, int status, const Error *err);

/* Describes the model of the file at `path` in one line: its text, rung, loss and date. */
void program_describe(const TrilModel *model, const char *path, char about[ABOUT_SIZE]);

/* Sends the output from now on to standard error, or again to standard output. */
void program_divert(bool to_errors);

#endif
