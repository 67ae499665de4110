/* inspect.h - shows a model instead of writing with it. */
#ifndef TRIL_PROGRAMS_SAMPLE_INSPECT_H
#define TRIL_PROGRAMS_SAMPLE_INSPECT_H

#include "programs/sample/arguments.h"

/* Prints, for --info, the contents of the model's file or folder; with --json as an object. */
bool inspect_file(TrilModel *model, const Arguments *arguments, Error *err);

/* Prints, for --score, how well each model predicts a text: lines, or a table for several models;
 * with --json an object. */
bool inspect_score(const Arguments *arguments, Error *err);

/* Shows, for --explain, how a text leads to the next character; for several models, only the
 * character that each expects. */
bool inspect_steps(const Arguments *arguments, Error *err);

#endif
