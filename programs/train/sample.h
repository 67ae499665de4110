/* sample.h - the line of text that the model generates at each evaluation: it shows how the model
 * learns to spell. */
#ifndef TRIL_PROGRAMS_TRAIN_SAMPLE_H
#define TRIL_PROGRAMS_TRAIN_SAMPLE_H

#include "library/tril.h"
#include "programs/report/glyph.h"

enum { SAMPLE_COLUMNS = 64, SAMPLE_SIZE = 4 * SAMPLE_COLUMNS + GLYPH_SIZE };

/* Generates a line with the present weights of the training, from an empty prompt: SAMPLE_COLUMNS
 * columns of characters. A sign replaces each end of line. The same seed makes the same random
 * choices. Without memory the line ends early. */
void sample_write(TrilTraining *training, const TrilTokenizer *tokenizer, uint64_t seed,
                  char text[SAMPLE_SIZE]);

#endif
