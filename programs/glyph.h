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

/* Appends the glyph of a character as the library writes it, text[length], but a space as a space,
 * to the text in line[size]. Returns false if there is no room for it. */
bool glyph_append(const char *text, size_t length, char *line, size_t size);

/* Writes the characters of ids [count] so to line[size], as many as fit. */
void glyph_line(const TrilTokenizer *tokenizer, const int32_t *ids, int count, char *line,
                size_t size);

#endif
