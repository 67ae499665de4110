/* options.h - from the options of tril.h to the records of the engine. */
#ifndef TRIL_LIBRARY_OPTIONS_H
#define TRIL_LIBRARY_OPTIONS_H

#include "library/handles.h"
#include "library/recipe.h"

/* Sets each unset option that has a default to it. */
void options_fill(TrilOptions *options);

/* Makes each name a constant, so that the caller may release the names of `options`. */
void options_own_names(TrilOptions *options);

/* Sets each unset option to that of the decided ones, but the learning rate, the weight decay and
 * the time limit, which may stay unset. */
void options_complete(TrilOptions *options, const TrilOptions *decided);

/* Checks the range of each option that is set. */
bool options_in_range(const TrilOptions *options, Error *err);

/* Sets *config to the sizes of a model with V characters. Fails for options out of range, for an
 * unset size, and as model_check. */
bool options_config(const TrilOptions *options, int V, Config *config, Error *err);

/* Returns a record in which only the sizes of `config` are set; kv_heads and hidden only where they
 * are not the default. */
TrilOptions options_of(const Config *config);

/* Copies the sizes of one record, and its rung, to another. */
void options_take_sizes(TrilOptions *options, const TrilOptions *sizes);

/* Returns how a training runs with these options, which are in range, with the batch and the
 * context set. */
RunOptions options_run(const TrilOptions *options);

/* Sets *config and *run for a training with these options on the text. Fails as options_config, as
 * run_estimate, and if this machine has not the memory for it, its teacher and, if it is resumed,
 * its state. */
bool options_fit(const TrilOptions *options, const Corpus *corpus, bool resumed, Config *config,
                 RunOptions *run, Error *err);

/* Checks that the teacher, or NULL, can teach a model with these ids and this context. */
bool teacher_fits(const TrilModel *teacher, const Vocab *vocab, double context, Error *err);

/* The memory of a run as tril.h has it, and its sum in bytes. */
TrilMemory memory_from(const Memory *memory);
double memory_sum(const TrilMemory *memory);

#endif
