/* heat.h - attention weights as a map on the terminal. */
#ifndef TRIL_REPORT_HEAT_H
#define TRIL_REPORT_HEAT_H

#include "report/glyph.h"
#include "report/screen.h"

enum { HEAT_TITLE = 8 }; /* columns of a title, at least */

/* A square map. Row t holds the weights, 0 to 1, that token t gives to tokens 0 to t; the upper
 * triangle is not shown. */
typedef struct {
    char title[32];
    const float *weights; /* [T, T] */
} HeatMap;

/* Draws maps [count] of T tokens with the tokens' glyphs at both axes: as many maps side by side as
 * the screen has room for; of one that is too wide, the first tokens. In colour, lighter is more;
 * without colour, digits are tenths. */
void heat_draw(const Screen *screen, const HeatMap *maps, int count, int T,
               const char (*glyphs)[GLYPH_SIZE]);

#endif
