/* chart.h - curves as a picture in SVG, which stands in a page or alone. */
#ifndef TRIL_REPORT_CHART_H
#define TRIL_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double x, y; /* x >= 0; both finite, and not beyond 1e15 */
} Point;

/* A curve, and how it looks: a faint one is a thin line without a label, drawn first. */
typedef struct {
    const char *name;
    const Point *points;
    int count, colour; /* colour: 0 to CHART_COLOURS - 1; others start over */
    bool faint;
} Curve;

enum { CHART_COLOURS = 6 };

/* A height that curves are compared with. */
typedef struct {
    const char *name;
    double y;
} Level;

typedef struct {
    const char *id, *title, *x_name; /* id: a plain word */
    const Curve *curves;
    const Level *levels;
    int curve_count, level_count;
    int width, height; /* of the drawing, which is scaled to the place that it has */
    bool from_zero;    /* the y axis begins there */
} Chart;

/* Draws it. The points of a curve stand in the drawing as the numbers that they are, and a matrix
 * takes them to their places: what reads the drawing reads the figures. */
void chart_draw(FILE *out, const Chart *chart);

#endif
