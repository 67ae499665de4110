/* compute.h - how much a training computes. */
#ifndef TRIL_TRAINING_COMPUTE_H
#define TRIL_TRAINING_COMPUTE_H

#include "model/model.h"

/* The floating-point operations of training a model on so many characters, as docs/performance.md
 * counts them: for each character 6 for each parameter (the position table excluded) plus 12 L T C.
 * NaN if the configuration is invalid or memory is short. */
double compute_of(const Config *config, double characters);

#endif
