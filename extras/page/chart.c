/* chart.c - draws curves as an SVG of any width, with a legend. */
#include "extras/page/figure.h"

#include <math.h>

/* The margins of page.css above and below the plot, in the height of the chart. */
enum { TOP = 10, BOTTOM = 38 };

enum { LINE = 14, MAX_LABELS = 32, PLOT = 1000 /* the width of the plot in its own units */ };

/* Medium lightness, visible on white and on black. */
static const char *const colors[CHART_COLORS] = {"#3b82d6", "#d9722e", "#2f9e5b", "#c056a8",
                                                 "#a8870c", "#d94f4f", "#16a0a8", "#7d6bd6"};
#define GRAY "#808080"

typedef struct {
    FILE *out;
    const Chart *chart;
    double x_max, y_min, y_max; /* the range of the axes; x begins at 0 */
    double height;              /* height of the area between the axes, in pixels */
} Drawing;

/* A name to the right of the plot. */
typedef struct {
    const char *name, *color;
    bool broken; /* the line that it names */
    double y;    /* in pixels */
} Label;

static const char *color_of(int color) {
    return colors[color % CHART_COLORS];
}

/* Returns y in pixels. */
static double y_of(const Drawing *d, double y) {
    return (d->y_max - y) / (d->y_max - d->y_min) * d->height;
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
    d.height = chart->height - TOP - BOTTOM;
    return d;
}

/* Returns the round number, 1, 2 or 5 times a power of ten, that divides `range` into about `parts`
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

/* Draws the axes and the levels. Every second number on the x axis can be left out where there is
 * little room. */
static void draw_axes(const Drawing *d) {
    double first, x_step = round_step(d->x_max, 6),
                  y_step = round_step(d->y_max - d->y_min, d->chart->height / 65.0);
    fputs("<g fill=\"" GRAY "\" stroke=\"" GRAY "\" stroke-opacity=\".25\">\n", d->out);
    for (int i = multiples(d->y_min, d->y_max, y_step, &first); i >= 0; i--) {
        double y = first + i * y_step;
        fprintf(d->out,
                "<svg y=\"%.1f\" overflow=\"visible\"><line x2=\"100%%\"/><text x=\"-6\" y=\"4\" "
                "text-anchor=\"end\" stroke=\"none\">%.6g</text></svg>\n",
                y_of(d, y), fabs(y) < y_step / 2 ? 0 : y);
    }
    for (int i = multiples(0, d->x_max, x_step, &first); i >= 0; i--)
        fprintf(d->out,
                "<svg x=\"%.5g%%\" y=\"%.0f\" overflow=\"visible\"><path d=\"M0 0v4\"/><text "
                "%sy=\"16\" text-anchor=\"middle\" stroke=\"none\">%.9g</text></svg>\n",
                (first + i * x_step) / d->x_max * 100, d->height, i % 2 ? "class=\"odd\" " : "",
                first + i * x_step);
    markup(d->out,
           "<svg y=\"%.0f\" overflow=\"visible\"><line x2=\"100%%\"/><text x=\"100%%\" y=\"32\" "
           "text-anchor=\"end\" stroke=\"none\">%s</text></svg>\n</g>\n",
           d->height, d->chart->x_name);
    for (int i = 0; i < d->chart->level_count; i++)
        fprintf(d->out,
                "<line x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"" GRAY
                "\" stroke-dasharray=\"5 4\"/>\n",
                y_of(d, d->chart->levels[i].y), y_of(d, d->chart->levels[i].y));
}

/* Draws the points as numbers, and as dots if there are few. */
static void draw_curve(const Drawing *d, const Curve *curve) {
    static const char fixed[] = "vector-effect=\"non-scaling-stroke\"";
    enum { FEW = 30 };
    const char *color = color_of(curve->color);
    markup(d->out, "<polyline data-name=\"%s\" stroke=\"%s\" ", curve->name, color);
    fprintf(d->out, "stroke-width=\"%s\" %s points=\"",
            curve->faint ? "1\" stroke-opacity=\".45" : "2", fixed);
    for (int i = 0; i < curve->count; i++)
        fprintf(d->out, "%s%.9g,%.9g", i ? " " : "", curve->points[i].x, curve->points[i].y);
    fputs("\"/>\n", d->out);
    if (curve->faint || curve->count > FEW) return;
    fprintf(d->out, "<path stroke=\"%s\" stroke-width=\"6\" %s d=\"", color, fixed);
    for (int i = 0; i < curve->count; i++)
        fprintf(d->out, "M%.9g %.9gh0", curve->points[i].x, curve->points[i].y);
    fputs("\"/>\n", d->out);
}

/* Draws the curves. The matrix scales the lines, but not their width. */
static void draw_curves(const Drawing *d) {
    const Chart *chart = d->chart;
    double x_scale = PLOT / d->x_max, y_scale = d->height / (d->y_max - d->y_min);
    fprintf(d->out,
            "<svg width=\"100%%\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
            "preserveAspectRatio=\"none\" overflow=\"visible\">\n"
            "<g class=\"plot\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
            "transform=\"matrix(%.9g 0 0 %.9g 0 %.9g)\">\n",
            d->height, PLOT, d->height, x_scale, -y_scale, d->y_max * y_scale);
    for (int faint = 1; faint >= 0; faint--)
        for (int i = 0; i < chart->curve_count; i++)
            if (chart->curves[i].faint == (faint == 1)) draw_curve(d, &chart->curves[i]);
    fputs("</g>\n</svg>\n", d->out);
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
        double lowest = d->height - LINE * (count - 1 - i);
        labels[i].y = fmin(labels[i].y, lowest);
    }
}

/* Draws a piece of each line with its name. */
static void draw_names(const Drawing *d) {
    const Chart *chart = d->chart;
    Label labels[MAX_LABELS];
    int count = 0;
    for (int i = 0; i < chart->level_count && count < MAX_LABELS; i++)
        labels[count++] = (Label){chart->levels[i].name, GRAY, true, y_of(d, chart->levels[i].y)};
    for (int i = 0; i < chart->curve_count && count < MAX_LABELS; i++) {
        const Curve *curve = &chart->curves[i];
        if (curve->faint || curve->count == 0) continue;
        double y = y_of(d, curve->points[curve->count - 1].y);
        labels[count++] = (Label){curve->name, color_of(curve->color), false, y};
    }
    spread(d, labels, count);
    fputs("<svg class=\"names\" x=\"100%\" overflow=\"visible\">\n", d->out);
    for (int i = 0; i < count; i++) {
        const Label *l = &labels[i];
        fprintf(d->out, "<path d=\"M6 %.1fh12\" stroke=\"%s\" stroke-width=\"2\"%s/>", l->y,
                l->color, l->broken ? " stroke-dasharray=\"5 2\"" : "");
        markup(d->out, "<text x=\"23\" y=\"%.1f\" fill=\"" GRAY "\">%s</text>\n", l->y + 4,
               l->name);
    }
    fputs("</svg>\n", d->out);
}

static void draw_chart(FILE *out, const Chart *chart) {
    Drawing d = lay_out(out, chart);
    markup(out,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" class=\"chart\" role=\"img\" "
           "height=\"%.0f\" overflow=\"visible\" font-family=\"system-ui, sans-serif\" "
           "font-size=\"12\" data-place=\"%s\" data-decimals=\"%d\">\n<title>%s</title>\n",
           chart->id, d.height, chart->x_place, chart->decimals, chart->title);
    draw_axes(&d);
    draw_curves(&d);
    if (chart->names) draw_names(&d);
    fputs("</svg>\n", out);
}

/* ---- the legend ---- */

/* Writes a header cell with a piece of a line, as in the chart, and a name. */
static void write_name(FILE *out, const char *scope, const char *color, const char *stroke,
                       const char *name) {
    fprintf(out,
            "<th scope=\"%s\"><svg class=\"key\" width=\"18\" height=\"8\" aria-hidden=\"true\">"
            "<path d=\"M0 4h18\" stroke=\"%s\" %s/></svg>",
            scope, color, stroke);
    markup(out, "%s</th>", name);
}

/* Writes the last value of a curve, or an empty cell without a curve. */
static void write_last(FILE *out, const Chart *chart, const Curve *curve) {
    if (!curve)
        fputs("<td></td>", out);
    else if (curve->count == 0)
        markup(out, "<td data-name=\"%s\">–</td>", curve->name);
    else
        markup(out, "<td data-name=\"%s\">%.*f</td>", curve->name, chart->decimals,
               curve->points[curve->count - 1].y);
}

static const Curve *faint_of(const Chart *chart, int color) {
    for (int i = 0; i < chart->curve_count; i++)
        if (chart->curves[i].faint && chart->curves[i].color == color) return &chart->curves[i];
    return NULL;
}

static void write_legend(FILE *out, const Chart *chart) {
    static const char thick[] = "stroke-width=\"3\"", thin[] = "stroke-opacity=\".6\"",
                      broken[] = "stroke-dasharray=\"5 3\"";
    fputs("<table class=\"legend\">\n<thead><tr><th scope=\"col\" class=\"place\">last value</th>",
          out);
    if (chart->strong) write_name(out, "col", "currentColor", thick, chart->strong);
    if (chart->faint) write_name(out, "col", "currentColor", thin, chart->faint);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < chart->curve_count; i++) {
        const Curve *curve = &chart->curves[i];
        if (curve->faint) continue;
        fputs("<tr>", out);
        write_name(out, "row", color_of(curve->color), thick, curve->name);
        write_last(out, chart, curve);
        if (chart->faint) write_last(out, chart, faint_of(chart, curve->color));
        fputs("</tr>\n", out);
    }
    for (int i = 0; i < chart->level_count; i++) {
        fputs("<tr>", out);
        write_name(out, "row", GRAY, broken, chart->levels[i].name);
        fprintf(out, "<td>%.*f</td>%s</tr>\n", chart->decimals, chart->levels[i].y,
                chart->faint ? "<td></td>" : "");
    }
    fputs("</tbody>\n</table>\n", out);
}

void figure_chart(FILE *out, const Chart *chart) {
    fprintf(out, "<figure class=\"charted%s\" id=\"figure-%s\">\n", chart->names ? " named" : "",
            chart->id);
    markup(out, "<figcaption>%s</figcaption>\n", chart->title);
    draw_chart(out, chart);
    write_legend(out, chart);
    fputs("</figure>\n", out);
}
