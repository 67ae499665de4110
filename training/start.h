/* start.h - a training that begins from a model that is there already, rather than from random
 * weights: what it settles, and what the command line may still say. */
#ifndef TRIL_START_H
#define TRIL_START_H

#include "exchange/trained.h"
#include "training/settings.h"

/* Settings that the model of Settings.init gives: its rung, its sizes, whether it reads
 * bytes, and a gentler learning rate where none was chosen. Refused: those that a person chose (not
 * 0 or NULL) otherwise than the model has them. */
bool start_settle(Settings *settings, const Trained *start, Error *err);

#endif
