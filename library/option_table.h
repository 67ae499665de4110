/* option_table.h - converts the options of tril.h to the records of the engine. */
#ifndef TRIL_LIBRARY_OPTION_TABLE_H
#define TRIL_LIBRARY_OPTION_TABLE_H

#include "library/handles.h"

/* Sets each unset option that has a default to it, and each name to the constant of its row. */
void options_fill(TrilOptions *options);

/* Checks the range of each option that is set. */
bool options_in_range(const TrilOptions *options, Error *err);

/* Sets *config to the sizes of a model with V characters. Fails for options out of
 * range, for an unset size, and where model_check fails. */
bool options_config(const TrilOptions *options, int V, Config *config, Error *err);

/* Returns a record of the sizes of `config`; without kv_heads and hidden at their defaults. */
TrilOptions options_of(const Config *config);

/* Returns the run options of a training run. The options are in range, batch and context set. */
RunOptions options_run(const TrilOptions *options);

#endif
