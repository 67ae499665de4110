/* dropout.h - the dropout mask of one row, for dropout and attention. Private to model/. */
#ifndef TRIL_MODEL_LAYERS_DROPOUT_H
#define TRIL_MODEL_LAYERS_DROPOUT_H

#include "model/layers/compute.h"

/* The mask of row `row`, from Dropout.key. 0 < rate < 1. */
DropoutRow dropout_row(Dropout dropout, size_t row);

#endif
