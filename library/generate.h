/* generate.h - the settings of generation, for one text and for several. */
#ifndef TRIL_LIBRARY_GENERATE_H
#define TRIL_LIBRARY_GENERATE_H

#include "library/handles.h"
#include "model/generation.h"

/* Sets *sampler to the settings of `s`, with the ranges of ./sample. */
bool read_sampler(Sampler *sampler, const TrilSampling *s, Error *err);

/* Weighs the counts of a run as `s` says. Fails if there are none. */
bool weigh_counts(Run *run, const TrilSampling *s, Error *err);

#endif
