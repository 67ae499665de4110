/* optimizer.h - the gradients and moments of a training run. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_OPTIMIZER_H
#define TRIL_MODEL_ENGINE_OPTIMIZER_H

#include "model/engine/run.h"

/* Allocates the gradients and moments, all 0, laid out like the weights. The run owns them;
 * optimizer_close releases them. Refused: no memory. */
bool optimizer_open(Run *run, Error *err);
void optimizer_close(Run *run);

#endif
