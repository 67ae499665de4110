/* heat.h - weights of attention as a map on the terminal. */
#ifndef TRIL_REPORT_HEAT_H
#define TRIL_REPORT_HEAT_H

#include "report/glyph.h"
#include "report/screen.h"

/* A square map of which the lower triangle is shown: row t has the weights, 0 to 1, that token t
 * gives to tokens 0 to t. */
enum { HEAT_TITLE = 8 }; /* columns that a title has at least */

typedef struct {
    char title[32];
    const float *weights; /* [T, T] */
} HeatMap;

/* Draws maps [count] of T tokens, whose glyphs stand at both axes, side by side as far as the
 * screen is wide; and of tokens beyond its width only the first ones. In colour the lighter is the
 * more; else digits are tenths. */
void heat_draw(const Screen *screen, const HeatMap *maps, int count, int T,
               const char (*glyphs)[GLYPH_ROOM]);

#endif
