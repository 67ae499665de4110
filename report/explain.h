/* explain.h - attention explained on a trained model, step by step, as a textbook does it. */
#ifndef TRIL_REPORT_WALK_H
#define TRIL_REPORT_WALK_H

#include "data/data.h"
#include "model/model.h"
#include "report/screen.h"

enum { ALL_HEADS = -1 }; /* or any negative number */

/* Prints each step of attention on ids [T], 1 <= T <= the model's context, in a layer and a head of
 * it. ALL_HEADS: numbers of the first head, and maps of all. For the bigram, which has no
 * attention: what may follow each character. Refused: a layer or head that the model does not have;
 * too little memory. */
bool explain_attention(const Screen *screen, Model *model, const Vocab *vocab, const int32_t *ids,
                       int T, int layer, int head, Error *err);

#endif
