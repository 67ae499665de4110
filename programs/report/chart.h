/* chart.h - curves as an SVG picture of any width. */
#ifndef TRIL_PROGRAMS_REPORT_CHART_H
#define TRIL_PROGRAMS_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double x, y; /* x >= 0; both finite and at most 1e15; x ascends along a curve */
} Point;

/* A curve. A faint curve is a thin line, drawn first; it belongs to the curve of the same
 * colour. */
typedef struct {
    const char *name;
    const Point *points;
    int count, colour; /* colour: 0 to CHART_COLOURS - 1, then again from 0 */
    bool faint;
} Curve;

enum { CHART_COLOURS = 7 };

/* A horizontal line for comparison. */
typedef struct {
    const char *name;
    double y;
} Level;

/* A point that has something to say. */
typedef struct {
    Point at;
    const char *text;
    int colour;
} Mark;

typedef struct {
    const char *id, *title; /* id: a plain word */
    const char *x_name;     /* below the axis */
    const char *x_place;    /* a place on the axis, '#' for its number: "step #" */
    const char *strong;     /* what the curves are, */
    const char *faint;      /* and the faint ones; NULL: there are none */
    const Curve *curves;
    const Level *levels;
    const Mark *marks;
    int curve_count, level_count, mark_count;
    int height;     /* of the drawing, in pixels */
    int decimals;   /* of the values, where a reader sees them */
    bool from_zero; /* the y axis begins at 0 */
    bool names;     /* the names of curves and levels stand to the right of them */
} Chart;

/* Draws the chart, as wide as it is allowed to be: places along x are percentages, and letters keep
 * their size. The axes' numbers and the names lie outside the SVG's own area, in margins that
 * page.css gives it. The SVG keeps the data of each curve as numbers, and a matrix scales them, so
 * a reader of the SVG can read the data. */
void chart_draw(FILE *out, const Chart *chart);

/* The colour of a curve or mark, as in CSS. */
const char *chart_colour(int colour);

#endif
