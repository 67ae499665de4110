/* dropout.h - the mask of one row, for the two layers that drop out. */
#ifndef TRIL_DROPOUT_H
#define TRIL_DROPOUT_H

#include "model/layers.h"

/* The mask of row `row` under `dropout`. 0 < rate < 1. */
DropoutRow dropout_row(Dropout dropout, size_t row);

#endif
