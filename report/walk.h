/* walk.h - attention explained on a trained model, step by step, as a textbook does it. */
#ifndef TRIL_REPORT_WALK_H
#define TRIL_REPORT_WALK_H

#include "data/data.h"
#include "model/model.h"
#include "report/screen.h"

enum { ALL_HEADS = -1 };

/* Prints what attention makes of ids [T], 1 <= T <= the model's context, in a layer and a head of
 * it (ALL_HEADS: numbers of the first one, and maps of all); for the bigram, which has none, what
 * may follow each character. Refused: a layer or head that the model has not; too little memory. */
bool walk_attention(const Screen *screen, Model *model, const Vocab *vocab, const int32_t *ids,
                    int T, int layer, int head, Error *err);

#endif
