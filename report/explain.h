/* explain.h - shows the steps of attention in a trained model, as a textbook does. */
#ifndef TRIL_REPORT_EXPLAIN_H
#define TRIL_REPORT_EXPLAIN_H

#include "data/data.h"
#include "model/model.h"
#include "report/screen.h"

enum { ALL_HEADS = -1 }; /* any negative number does */

/* Prints each step of attention on ids [T], 1 <= T <= the model's context, in one layer and head.
 * ALL_HEADS prints the numbers of the first head and the maps of all. The bigram has no attention:
 * prints what may follow each character. Refused: a layer or head that the model does not have, no
 * memory. */
bool explain_attention(const Screen *screen, Model *model, const Vocab *vocab, const int32_t *ids,
                       int T, int layer, int head, Error *err);

#endif
