/* figure.h - charts and maps as figures of an HTML page. chart.js and map.js make them answer the
 * pointer and the keyboard. */
#ifndef TRIL_PROGRAMS_REPORT_FIGURE_H
#define TRIL_PROGRAMS_REPORT_FIGURE_H

#include "programs/report/chart.h"
#include "programs/report/glyph.h"

/* Writes the chart and its legend: a table with a row for each curve and level, and a column each
 * for strong and faint curves. The legend has the last value of each curve; chart.js puts those at
 * the cursor there. */
void figure_chart(FILE *out, const Chart *chart);

/* Writes a map (map_draw) with a caption, and an output element where map.js puts the weight at the
 * cursor. */
void figure_map(FILE *out, const char *id, const char *caption, const char *title,
                const float *weights, int T, const char (*glyphs)[GLYPH_SIZE]);

#endif
