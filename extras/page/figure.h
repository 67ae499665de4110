/* figure.h - writes an HTML page: its frame, text, charts and maps of attention. A figure is an SVG
 * that holds its data as numbers; figure.js makes it answer the pointer and the keyboard. */
#ifndef TRIL_EXTRAS_PAGE_FIGURE_H
#define TRIL_EXTRAS_PAGE_FIGURE_H

#include "programs/glyph.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes like fprintf, but escapes text (%s, %.*s) for its place between tags or in a quoted
 * attribute: markup characters become references; control and format characters, and bytes that are
 * not UTF-8, become U+FFFD; newlines and tabs stay. The other conversions are %d, %zu, %e, %f and
 * %g, with a precision. */
void markup(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct {
    double x, y; /* x >= 0; both finite and at most 1e15; x ascends along a curve */
} Point;

/* A curve. A faint curve is a thin line, drawn first; it belongs to the curve of the same
 * color. */
typedef struct {
    const char *name;
    const Point *points;
    int count, color; /* color: 0 to CHART_COLORS - 1, then again from 0 */
    bool faint;
} Curve;

enum { CHART_COLORS = 8 };

/* A horizontal line for comparison. */
typedef struct {
    const char *name;
    double y;
} Level;

typedef struct {
    const char *id, *title; /* id: a plain word */
    const char *x_name;     /* below the axis */
    const char *x_place;    /* a place on the axis, '#' for its number: "step #" */
    const char *strong;     /* the meaning of the curves */
    const char *faint;      /* the meaning of the faint ones, or NULL */
    const Curve *curves;
    const Level *levels;
    int curve_count, level_count;
    int height;     /* of the drawing, in pixels */
    int decimals;   /* of the values, where a reader sees them */
    bool from_zero; /* the y axis begins at 0 */
    bool names;     /* the names of curves and levels stand to the right of them */
} Chart;

/* Draws the chart as wide as the page allows: positions along x are percentages, and letters keep
 * their size. The axes' numbers and the names lie outside the SVG's own area, in margins that
 * page.css gives it. A matrix scales the data. The legend below, a table with a row for each curve
 * and level and a column each for strong and faint curves, has the last value of each curve;
 * figure.js replaces them by those at the cursor. */
void figure_chart(FILE *out, const Chart *chart);

/* The attention weights [T, T] of a head on T tokens. Row t holds the weights, 0 to 1, of token t
 * on tokens 0 to t; the rest is not shown. */
typedef struct {
    int layer, head; /* layer: the transformer block */
    const float *weights;
} HeadMap;

/* Draws the lower triangle of a map of T tokens: bluer is more. The glyphs [T] label both axes.
 * The SVG, whose id is map-LAYER-HEAD, keeps the weights in thousandths; figure.js shows the one
 * at the cursor in an output element. */
void figure_map(FILE *out, const HeadMap *map, int T, const Glyph *glyphs);

/* Draws the scale of all maps, the weight of each shade, after a hint on how to read it. */
void figure_scale(FILE *out);

/* Write the rest of a page's head, after its first lines, up to <body>; and the scripts and the
 * end, from </main>. A page needs no other file and no network. */
void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

#endif
