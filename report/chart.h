/* chart.h - curves as an SVG picture, inside a page or as a file. */
#ifndef TRIL_REPORT_CHART_H
#define TRIL_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double x, y; /* x >= 0; both finite and at most 1e15 */
} Point;

/* A curve. A faint curve is a thin line without a label, drawn first. */
typedef struct {
    const char *name;
    const Point *points;
    int count, colour; /* colour: 0 to CHART_COLOURS - 1, then again from 0 */
    bool faint;
} Curve;

enum { CHART_COLOURS = 6 };

/* A horizontal line for comparison. */
typedef struct {
    const char *name;
    double y;
} Level;

typedef struct {
    const char *id, *title, *x_name; /* id: a plain word */
    const Curve *curves;
    const Level *levels;
    int curve_count, level_count;
    int width, height; /* of the drawing; a page may scale it */
    bool from_zero;    /* the y axis begins at 0 */
} Chart;

/* Draws the chart. The SVG keeps the data of each curve as numbers, and a matrix scales them, so a
 * reader of the SVG can read the data. */
void chart_draw(FILE *out, const Chart *chart);

#endif
