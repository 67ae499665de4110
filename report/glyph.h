/* glyph.h - visible characters for maps and single lines of text. */
#ifndef TRIL_REPORT_GLYPH_H
#define TRIL_REPORT_GLYPH_H

#include "data/data.h"

enum { GLYPH_SIZE = 12, GLYPH_COLUMNS = 2 };

/* Does this code point change how the rest of the line is shown (direction, line breaks)? */
bool glyph_is_format(uint32_t code);

/* The columns that a code point takes on a terminal: 0 to GLYPH_COLUMNS. */
int glyph_columns(uint32_t code);

/* Writes a character of the vocabulary as visible text. White space becomes a sign, an accent gets
 * a circle, an invisible or format character becomes a dot. Returns its width in terminal columns:
 * 1 or GLYPH_COLUMNS. */
int glyph_of(const Vocab *vocab, int id, char text[GLYPH_SIZE]);

/* The same of a code point or, with `byte`, of a byte value. */
int glyph_of_code(uint32_t code, bool byte, char text[GLYPH_SIZE]);

/* The code point or, with `byte`, the byte value of the first character of text[length], as the
 * library writes it. */
uint32_t glyph_code(const char *text, size_t length, bool byte);

/* glyph_of, padded to GLYPH_COLUMNS columns. */
void glyph_padded(const Vocab *vocab, int id, char text[GLYPH_SIZE]);

/* A line that grows, with spaces as spaces: `text` has room for `size` bytes and the zero after
 * them, and `columns` are left. */
typedef struct {
    char *text;
    size_t size;
    int columns;
} GlyphLine;

/* Appends a code point or, with `byte`, a byte value. False: it has no room. */
bool glyph_append(GlyphLine *line, uint32_t code, bool byte);

/* Writes the glyphs of ids [count] on one line, with spaces as spaces. Stops when `columns` columns
 * or `size` bytes are full. */
void glyph_line(const Vocab *vocab, const int32_t *ids, int count, int columns, char *text,
                size_t size);

#endif
