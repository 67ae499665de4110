/* glyph.h - how a character looks where it must be seen: in maps, and in a line of text. */
#ifndef TRIL_REPORT_GLYPH_H
#define TRIL_REPORT_GLYPH_H

#include "data/data.h"

enum { GLYPH_ROOM = 12, GLYPH_COLUMNS = 2 };

/* Is this code point one that would turn the rest of a line around, or glue it together? */
bool glyph_is_format(uint32_t code);

/* Writes a character of the vocabulary as text that can be seen, with a NUL: a blank as a sign, an
 * accent on a circle, what cannot be seen, or would turn the rest of a line around, as a dot.
 * Returns the columns of a terminal that it takes, 1 or GLYPH_COLUMNS. */
int glyph_of(const Vocab *vocab, int id, char text[GLYPH_ROOM]);

/* The same, filled up to GLYPH_COLUMNS columns. */
void glyph_padded(const Vocab *vocab, int id, char text[GLYPH_ROOM]);

/* The same for ids [count] in a row, where spaces are spaces: writes what fits into `columns` and
 * into `room` bytes, and a NUL. */
void glyph_line(const Vocab *vocab, const int32_t *ids, int count, int columns, char *text,
                size_t room);

#endif
