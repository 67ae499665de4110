/* map.h - a head's attention weights as an SVG picture, inside a page or as a file. */
#ifndef TRIL_PROGRAMS_REPORT_MAP_H
#define TRIL_PROGRAMS_REPORT_MAP_H

#include "programs/report/glyph.h"

#include <stdio.h>

/* Draws the lower triangle of weights [T, T], 0 to 1. Row t holds the weights of token t on tokens
 * 0 to t. Darker is more. The glyphs [T] label both axes. `id` is a plain word. The SVG keeps the
 * weights as numbers, in thousandths. */
void map_draw(FILE *out, const char *id, const char *title, const float *weights, int T,
              const char (*glyphs)[GLYPH_SIZE]);

/* Draws the scale of every map: which shade is which weight. */
void map_draw_scale(FILE *out);

#endif
