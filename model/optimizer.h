/* optimizer.h - a training run's part that learns. Private to model/. */
#ifndef TRIL_OPTIMIZER_H
#define TRIL_OPTIMIZER_H

#include "model/run.h"

/* Makes room for the gradients and moments, all 0; optimizer_close releases what is there. */
bool optimizer_open(Run *run, Error *err);
void optimizer_close(Run *run);

#endif
