/* screen.h - the terminal that something is shown on, and how characters look there. */
#ifndef TRIL_REPORT_SCREEN_H
#define TRIL_REPORT_SCREEN_H

#include "data/data.h"

#include <stdio.h>

typedef struct {
    FILE *out;
    int columns;
    bool colour;
} Screen;

/* What `out` is: as wide as its window, else as COLUMNS says, else 80; in colour if it is a
 * terminal that is not dumb, and NO_COLOR is not set (no-color.org). */
Screen screen_of(FILE *out);

enum { GLYPH_ROOM = 12, GLYPH_COLUMNS = 2 };

/* A character of the vocabulary as text of GLYPH_COLUMNS columns, with a NUL: blanks and what
 * cannot be seen by a sign of their own, an accent on a circle. */
void screen_glyph(const Vocab *vocab, int id, char text[GLYPH_ROOM]);

#endif
