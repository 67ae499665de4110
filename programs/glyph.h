/* glyph.h - visible characters for maps, tables and single lines of text. */
#ifndef TRIL_PROGRAMS_GLYPH_H
#define TRIL_PROGRAMS_GLYPH_H

#include "library/tril.h"

#include <stdbool.h>

enum { GLYPH_COLUMNS = 2 };

/* A character as visible text: white space becomes a sign, an accent gets a circle, an invisible or
 * format character becomes a dot. */
typedef struct {
    char text[12];
    int columns; /* its width on a terminal, 1 or GLYPH_COLUMNS */
} Glyph;

/* Returns the glyph of a character. */
Glyph glyph_of(const TrilTokenizer *tokenizer, int32_t id);

/* Returns true if a code point changes how the rest of a line is shown: direction, line breaks. */
bool glyph_is_format(uint32_t code);

/* The room for more of a line of glyphs, and for the zero at its end. */
typedef struct {
    char *text;
    size_t size;
} GlyphLine;

/* Appends the glyph of a character as the library writes it, text[length], but a space as a space.
 * Returns false if the line has no room for it. */
bool glyph_take(const char *text, size_t length, GlyphLine *line);

/* Does so for the characters of ids [count], as many as fit into text[size]. */
void glyph_line(const TrilTokenizer *tokenizer, const int32_t *ids, int count, char *text,
                size_t size);

#endif
