/* glyph.h - characters made visible, for maps and for a line of text. */
#ifndef TRIL_REPORT_GLYPH_H
#define TRIL_REPORT_GLYPH_H

#include "data/data.h"

enum { GLYPH_SIZE = 12, GLYPH_COLUMNS = 2 };

/* Does this code point change how the rest of the line is shown: its direction, its breaks? */
bool glyph_is_format(uint32_t code);

/* Writes a character of the vocabulary as visible text: a blank as a sign, an accent on a circle,
 * an invisible character or a format character as a dot. Returns how many columns of a terminal it
 * takes: 1 or GLYPH_COLUMNS. */
int glyph_of(const Vocab *vocab, int id, char text[GLYPH_SIZE]);

/* The same, padded to GLYPH_COLUMNS columns. */
void glyph_padded(const Vocab *vocab, int id, char text[GLYPH_SIZE]);

/* The glyphs of ids [count] in a line, but spaces as spaces: as many as fit into `columns` and into
 * `size` bytes. */
void glyph_line(const Vocab *vocab, const int32_t *ids, int count, int columns, char *text,
                size_t size);

#endif
