/* sizes.h - how large a model: which sizes are valid, which fit into memory, and which a time is
 * worth on this machine. */
#ifndef TRIL_TRAINING_SIZES_H
#define TRIL_TRAINING_SIZES_H

#include "data/data.h"
#include "training/request.h"

/* A model and the windows of its batch. Sizes that are still open are 0; an open dropout is
 * negative. */
typedef struct {
    Config config;
    int batch;
} Sizes;

/* Are sizes open? Dropout does not count. */
bool sizes_open(const Sizes *sizes);

/* Before the text is read: are the sizes that a person asks for valid for each of the rungs, if the
 * open ones are the smallest? */
bool sizes_check(const Request *request, Error *err);

/* Is there enough memory to train a model of these sizes on the text? `options` has the threads and
 * the precision. A training that is resumed also holds its state. If not, the message says how much
 * the training takes. */
bool sizes_fit(const Sizes *sizes, const RunOptions *options, const Corpus *corpus, bool resumed,
               Error *err);

/* Chooses the open sizes for a training of `seconds`. The larger a model is, the more characters it
 * must see to become better than a smaller one. How many it sees is measured: each candidate takes
 * a few steps. *speed is that of the chosen model, in characters a second. The training sees at
 * most `max_characters`. config.model and config.V are set; dropout stays as it is. Refused: too
 * little memory even for the smallest. */
bool sizes_choose(Sizes *sizes, const RunOptions *options, const Corpus *corpus, double seconds,
                  double max_characters, double *speed, Error *err);

#endif
