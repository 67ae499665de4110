/* excerpt.h - a line that the model writes on the way, to see it learn to spell. */
#ifndef TRIL_EXCERPT_H
#define TRIL_EXCERPT_H

#include "model/model.h"
#include "report/glyph.h"

enum { EXCERPT_COLUMNS = 64, EXCERPT_ROOM = 4 * EXCERPT_COLUMNS + GLYPH_ROOM };

typedef struct {
    Generator generator; /* over the training's own run, which it borrows */
    int32_t *order;      /* scratch for the sampler; owned */
} Excerpt;

bool excerpt_open(Excerpt *excerpt, Run *run, const Config *config, Error *err);
void excerpt_close(Excerpt *excerpt);

/* Writes to `text` what the model, as it is now, makes of an empty page: EXCERPT_COLUMNS characters
 * or, where they are wide, fewer; ends of lines as a sign. The same seed rolls the same dice. */
void excerpt_write(Excerpt *excerpt, const Vocab *vocab, uint64_t seed, char text[EXCERPT_ROOM]);

#endif
