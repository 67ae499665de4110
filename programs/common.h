/* common.h - the numbers and lines of both ./train and ./sample. */
#ifndef TRIL_PROGRAMS_COMMON_H
#define TRIL_PROGRAMS_COMMON_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

/* The folder of a run, which ./train makes and ./sample reads unless the command line names
 * another, and its model. */
#define PROGRAM_OUT   "out"
#define PROGRAM_MODEL "model.safetensors"

enum { EXIT_USAGE = 2, PROGRAM_PATH = 4096 };

/* Prints the usage of the program at `path`. */
void program_usage(const char *path, const char *arguments, const char *purpose);

/* Prints words from `column` on, and ends the line. On a terminal, breaks it between words;
 * continued lines begin with `hang` blanks. */
void program_words(FILE *out, int column, int hang, const char *text);

/* Numbers for people, on a screen or a page, have one form. Counts of things have commas (1,234,567
 * characters, 2,500 steps); values of options are as the user types them (--steps 2500). Measured
 * losses have four digits after the point, forecasts two, bits three, seconds one. No blank
 * precedes %. Memory is in MiB or GiB; files and messages are in MB. Numbers for programs (CSV,
 * --info, --score) have no commas. */

/* Returns 1234567 as 1,234,567. This, count_of and figure return one of eight buffers in rotation.
 */
const char *grouped(double number);

/* Returns "1 step", but "2 steps" and "1,234,567 steps": a count as grouped, and its noun. */
const char *count_of(double number, const char *noun);

/* Returns a number as text: a dash if it is unknown, as after an interruption; few digits if a
 * training run that diverged has a huge one. */
const char *figure(double value, int digits);

/* Returns trillions of operations as text. */
const char *figure_tera(double tera);

/* Prints the version. Returns as program_printed. */
int program_version(const char *name);

/* Returns EXIT_SUCCESS if all output of the program `name` was written; else as program_failed. */
int program_printed(const char *name);

/* Prints the message of the program `name`, after all other output. Returns `status`. */
int program_failed(const char *name, int status, const Error *err);

/* Reads a file that the command line names, as file_read does; "-" is standard input.
 * program_source returns its name for messages. */
bool program_read(const char *named, char **bytes, size_t *length, Error *err);
const char *program_source(const char *named);

/* Writes the path of the model that the command line names: its file, or the folder of a run. */
void program_model(const char *named, char path[PROGRAM_PATH]);

#endif
