/* chart.h - curves as an SVG picture, in a page or alone. */
#ifndef TRIL_REPORT_CHART_H
#define TRIL_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double x, y; /* x >= 0; both finite, and not beyond 1e15 */
} Point;

/* A curve. A faint one is a thin line without a label, drawn first. */
typedef struct {
    const char *name;
    const Point *points;
    int count, colour; /* colour: 0 to CHART_COLOURS - 1, and again from there */
    bool faint;
} Curve;

enum { CHART_COLOURS = 6 };

/* A horizontal line to compare the curves with. */
typedef struct {
    const char *name;
    double y;
} Level;

typedef struct {
    const char *id, *title, *x_name; /* id: a plain word */
    const Curve *curves;
    const Level *levels;
    int curve_count, level_count;
    int width, height; /* of the drawing, which a page may scale */
    bool from_zero;    /* the y axis begins at 0 */
} Chart;

/* Draws the chart. The SVG holds the points of a curve as the figures that they are, and a matrix
 * moves them to their places: whoever reads the SVG can read the figures. */
void chart_draw(FILE *out, const Chart *chart);

#endif
