/* inspect.h - shows a model instead of writing with it. */
#ifndef TRIL_PROGRAMS_SAMPLE_INSPECT_H
#define TRIL_PROGRAMS_SAMPLE_INSPECT_H

#include "programs/sample/arguments.h"

/* Prints, for --info, the contents of the model's file or folder. */
void inspect_file(TrilModel *model);

/* Prints, for --score, how well the model predicts a text. */
bool inspect_score(const TrilModel *model, const Arguments *arguments, Error *err);

/* Shows, for --explain, how a text leads to the next character; for several models, only the
 * character that each expects. */
bool inspect_steps(const Arguments *arguments, Error *err);

#endif
