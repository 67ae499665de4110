/* map.h - a head's weights of attention as a picture in SVG, which stands in a page or alone. */
#ifndef TRIL_REPORT_MAP_H
#define TRIL_REPORT_MAP_H

#include "report/glyph.h"

#include <stdio.h>

/* Draws the lower triangle of weights [T, T], 0 to 1: row t has what token t gives to tokens 0 to
 * t; the darker, the more. `glyphs` [T] stand at both axes; `id` is a plain word. */
void map_draw(FILE *out, const char *id, const char *title, const float *weights, int T,
              const char (*glyphs)[GLYPH_ROOM]);

#endif
