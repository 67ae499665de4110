/* record.h - from a rung to the program that the engine executes. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_RECORD_H
#define TRIL_MODEL_ENGINE_RECORD_H

#include "model/layers/program.h"

/* Calls the rung's forward and, in training, its backward, which write the program `p`, with the
 * loss between them. The program borrows the model and does not read its weights. program_close
 * releases the program. Errors: no memory, a wrong rung; then there is nothing to release. */
bool record(Program *p, const Model *model, bool training, Error *err);

#endif
