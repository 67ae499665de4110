/* compute.h - how much a training computes. */
#ifndef TRIL_LIBRARY_COMPUTE_H
#define TRIL_LIBRARY_COMPUTE_H

#include "model/model.h"

#define TERA 1e12

/* The floating-point operations of training a model on one character, as docs/performance.md counts
 * them: 6 for each parameter (the position table excluded) plus 12 L C for each character of its
 * window. */
typedef struct {
    double parameters; /* 6 for each */
    double looks;      /* 12 L C */
} Compute;

/* Sets *compute to that of a model. Refused: an invalid configuration, no memory. */
bool compute_of(Compute *compute, const Config *config, Error *err);

/* The operations for `characters` in windows of `window`. */
double compute_for(Compute compute, double characters, int window);

#endif
