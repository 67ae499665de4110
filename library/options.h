/* options.h - from the options of tril.h to the records of the engine. */
#ifndef TRIL_LIBRARY_OPTIONS_H
#define TRIL_LIBRARY_OPTIONS_H

#include "library/handles.h"
#include "library/recipe.h"

/* Sets each unset option that has a default to it. */
void options_fill(TrilOptions *options);

/* Makes each name a constant, so that the caller may release what `options` came with. */
void options_own_names(TrilOptions *options);

/* Sets each unset option to that of the decided ones, but the learning rate, the weight decay and
 * the time limit, which may stay unset. */
void options_complete(TrilOptions *options, const TrilOptions *decided);

/* Checks the range of each option that is set. */
bool options_in_range(const TrilOptions *options, Error *err);

/* Sets *config to the sizes, 0 where they are unset, of a model with V characters. Fails for an
 * unknown rung. */
bool options_sizes(const TrilOptions *options, int V, Config *config, Error *err);

/* The same of a model that is possible: model_check. */
bool options_config(const TrilOptions *options, int V, Config *config, Error *err);

/* A record in which only the sizes of `config` are set; of kv_heads and hidden other ones than the
 * default. */
TrilOptions options_of(const Config *config);

/* Copies the sizes of one record, and its rung, to another. */
void options_take_sizes(TrilOptions *options, const TrilOptions *sizes);

/* How a training of a model of this context runs. Fails for options out of range. */
bool options_run(RunOptions *run, const TrilOptions *options, int context, Error *err);

/* The recipe of a model of `rung` with these options. */
Recipe options_recipe(const TrilOptions *options, const char *rung);

/* Checks that the teacher, or NULL, can teach a model with these ids and this context. */
bool teacher_fits(const TrilModel *teacher, const Vocab *vocab, int context, Error *err);

/* Checks that this machine has the memory to train a model of these sizes on the text, beside a
 * teacher (NULL: none) and, if it is resumed, beside its state. */
bool memory_fits(const Config *config, const RunOptions *run, const Corpus *corpus,
                 const Model *teacher, bool resumed, Error *err);

#endif
