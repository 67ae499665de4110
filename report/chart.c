#include "report/chart.h"
#include "report/markup.h"

#include <math.h>

enum { LEFT = 52, RIGHT = 148, RIGHT_BARE = 14, TOP = 10, BOTTOM = 38, LINE = 14, MAX_LABELS = 32 };

/* Medium lightness, visible on white and on black. */
static const char *const colours[CHART_COLOURS] = {"#3b82d6", "#d9722e", "#2f9e5b",
                                                   "#c056a8", "#a8870c", "#d94f4f"};
#define GREY "#808080"

typedef struct {
    FILE *out;
    const Chart *chart;
    double x_max, y_min, y_max; /* the range of the axes; x begins at 0 */
    double width, height;       /* of the area between the axes */
} Drawing;

/* A name to the right of the plot. */
typedef struct {
    const char *name, *colour;
    double y; /* in drawing coordinates */
} Label;

static double x_of(const Drawing *d, double x) {
    return LEFT + x / d->x_max * d->width;
}

static double y_of(const Drawing *d, double y) {
    return TOP + (d->y_max - y) / (d->y_max - d->y_min) * d->height;
}

static const char *colour_of(const Curve *curve) {
    return colours[curve->colour % CHART_COLOURS];
}

static Drawing lay_out(FILE *out, const Chart *chart) {
    Drawing d = {.out = out, .chart = chart, .y_min = INFINITY, .y_max = -INFINITY};
    for (int i = 0; i < chart->curve_count; i++)
        for (int n = 0; n < chart->curves[i].count; n++) {
            Point p = chart->curves[i].points[n];
            d.x_max = fmax(d.x_max, p.x);
            d.y_min = fmin(d.y_min, p.y);
            d.y_max = fmax(d.y_max, p.y);
        }
    for (int i = 0; i < chart->level_count; i++) {
        d.y_min = fmin(d.y_min, chart->levels[i].y);
        d.y_max = fmax(d.y_max, chart->levels[i].y);
    }
    if (chart->from_zero) d.y_min = 0;
    const double tiny = 1e-15;
    double range = d.y_max - d.y_min;
    if (!(range > fmax(tiny, 1e-9 * fabs(d.y_max)))) { /* no points, or all have the same y */
        d.y_min = isfinite(d.y_min) ? d.y_min : 0;
        d.y_max = d.y_min + fmax(1, fabs(d.y_min));
    }
    double margin = 0.04 * (d.y_max - d.y_min);
    d.y_max += margin;
    if (!chart->from_zero) d.y_min -= margin;
    if (!(d.x_max > tiny)) d.x_max = 1;
    bool labels = chart->level_count > 0 || chart->curve_count > 1;
    d.width = chart->width - LEFT - (labels ? RIGHT : RIGHT_BARE);
    d.height = chart->height - TOP - BOTTOM;
    return d;
}

/* The round number, 1, 2 or 5 times a power of ten, that divides `range` into about `parts`
 * parts. */
static double round_step(double range, double parts) {
    double rough = range / parts, ten = pow(10, floor(log10(rough)));
    double digit = rough / ten;
    return ten * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/* Sets *first to the first multiple of `step` >= `min`. Returns the number of further multiples up
 * to `max`. */
static int multiples(double min, double max, double step, double *first) {
    *first = ceil(min / step) * step;
    return (int)floor((max - *first) / step);
}

static void draw_axes(const Drawing *d) {
    const Chart *chart = d->chart;
    double bottom = TOP + d->height, first, x_step = round_step(d->x_max, chart->width / 110.0),
           y_step = round_step(d->y_max - d->y_min, chart->height / 50.0);
    fputs("<g fill=\"" GREY "\" stroke=\"" GREY "\" stroke-opacity=\".2\">\n", d->out);
    for (int i = multiples(d->y_min, d->y_max, y_step, &first); i >= 0; i--) {
        double y = first + i * y_step, at = y_of(d, y);
        fprintf(d->out,
                "<path d=\"M%d %.1fh%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
                "stroke=\"none\">%.6g</text>\n",
                LEFT, at, d->width, LEFT - 6, at + 4, fabs(y) < y_step / 2 ? 0 : y);
    }
    for (int i = multiples(0, d->x_max, x_step, &first); i >= 0; i--) {
        double x = first + i * x_step;
        fprintf(d->out,
                "<path d=\"M%.1f %.1fv4\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
                "stroke=\"none\">%.9g</text>\n",
                x_of(d, x), bottom, x_of(d, x), bottom + 16, x);
    }
    fprintf(d->out,
            "<path d=\"M%d %.1fh%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" "
            "stroke=\"none\">",
            LEFT, bottom, d->width, LEFT + d->width, bottom + 32);
    markup_text(d->out, chart->x_name);
    fputs("</text>\n</g>\n", d->out);
}

/* Draws the points as numbers, and as dots if there are few. */
static void draw_curve(const Drawing *d, const Curve *curve) {
    enum { FEW = 30 };
    fprintf(d->out, "<polyline data-name=\"");
    markup_text(d->out, curve->name);
    fprintf(d->out, "\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour_of(curve),
            curve->faint ? "1\" stroke-opacity=\".35" : "2");
    for (int i = 0; i < curve->count; i++)
        fprintf(d->out, "%s%.9g,%.9g", i ? " " : "", curve->points[i].x, curve->points[i].y);
    fputs("\"/>\n", d->out);
    if (curve->faint || curve->count > FEW) return;
    fprintf(d->out, "<path stroke=\"%s\" stroke-width=\"6\" d=\"", colour_of(curve));
    for (int i = 0; i < curve->count; i++)
        fprintf(d->out, "M%.9g %.9gh0", curve->points[i].x, curve->points[i].y);
    fputs("\"/>\n", d->out);
}

static void draw_curves(const Drawing *d) {
    const Chart *chart = d->chart;
    double x_scale = d->width / d->x_max, y_scale = d->height / (d->y_max - d->y_min);
    fprintf(d->out,
            "<g class=\"plot\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
            "transform=\"matrix(%.9g 0 0 %.9g %d %.9g)\">\n",
            x_scale, -y_scale, LEFT, TOP + d->y_max * y_scale);
    for (int faint = 1; faint >= 0; faint--)
        for (int i = 0; i < chart->curve_count; i++)
            if (chart->curves[i].faint == (faint == 1)) draw_curve(d, &chart->curves[i]);
    fputs("</g>\n", d->out);
}

/* Sorts the labels from top to bottom and moves them at least a line apart. */
static void spread(const Drawing *d, Label *labels, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && labels[j].y < labels[j - 1].y; j--) {
            Label other = labels[j];
            labels[j] = labels[j - 1];
            labels[j - 1] = other;
        }
    for (int i = 1; i < count; i++) labels[i].y = fmax(labels[i].y, labels[i - 1].y + LINE);
    for (int i = count - 1; i >= 0; i--) {
        double lowest = TOP + d->height - LINE * (count - 1 - i);
        labels[i].y = fmin(labels[i].y, lowest);
    }
}

static void draw_labels(const Drawing *d) {
    const Chart *chart = d->chart;
    Label labels[MAX_LABELS];
    int count = 0;
    for (int i = 0; i < chart->level_count && count < MAX_LABELS; i++) {
        double y = y_of(d, chart->levels[i].y);
        fprintf(d->out,
                "<path d=\"M%d %.1fh%.1f\" stroke=\"" GREY "\" stroke-dasharray=\"5 4\"/>\n", LEFT,
                y, d->width);
        labels[count++] = (Label){chart->levels[i].name, GREY, y};
    }
    for (int i = 0; i < chart->curve_count && count < MAX_LABELS; i++) {
        const Curve *curve = &chart->curves[i];
        if (curve->faint || curve->count == 0) continue;
        double y = y_of(d, curve->points[curve->count - 1].y);
        labels[count++] = (Label){curve->name, colour_of(curve), y};
    }
    if (chart->curve_count + chart->level_count < 2) return;
    spread(d, labels, count);
    for (int i = 0; i < count; i++) {
        fprintf(d->out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">", LEFT + d->width + 8,
                labels[i].y + 4, labels[i].colour);
        markup_text(d->out, labels[i].name);
        fputs("</text>\n", d->out);
    }
}

void chart_draw(FILE *out, const Chart *chart) {
    Drawing d = lay_out(out, chart);
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" class=\"chart\" role=\"img\" "
        "viewBox=\"0 0 %d %d\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
        chart->id, chart->width, chart->height);
    markup_text(out, chart->title);
    fputs("</title>\n", out);
    /* the plot's matrix must scale the lines, but not their width */
    fputs("<style>.plot * { vector-effect: non-scaling-stroke }</style>\n", out);
    draw_axes(&d);
    draw_curves(&d);
    draw_labels(&d);
    fputs("</svg>\n", out);
}
