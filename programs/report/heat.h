/* heat.h - attention weights as a map on the terminal. */
#ifndef TRIL_PROGRAMS_REPORT_HEAT_H
#define TRIL_PROGRAMS_REPORT_HEAT_H

#include "programs/report/glyph.h"
#include "programs/report/screen.h"

enum { HEAT_TITLE = 8 }; /* minimum columns of a title */

/* A square map. Row t holds the weights, 0 to 1, of token t on tokens 0 to t. The upper triangle is
 * not shown. */
typedef struct {
    char title[32];
    const float *weights; /* [T, T] */
} HeatMap;

/* Draws maps [count] of T tokens, with the tokens' glyphs on both axes. Puts maps side by side
 * where the screen is wide enough. Leaves the middle out of a map that is too wide. In colour,
 * lighter is more. Without colour, digits are tenths: . is less than 0.05, 9 is
 * 0.85 or more. Returns the number of tokens shown. */
int heat_draw(const Screen *screen, const HeatMap *maps, int count, int T,
              const char (*glyphs)[GLYPH_SIZE]);

#endif
