#include "programs/report/figure.h"
#include "programs/report/map.h"
#include "programs/report/markup.h"

/* A piece of a line, as in the chart. */
static void write_key(FILE *out, const char *colour, const char *attributes) {
    fprintf(out,
            "<svg class=\"key\" width=\"18\" height=\"8\" aria-hidden=\"true\"><path d=\"M0 4h18\" "
            "stroke=\"%s\" %s/></svg>",
            colour, attributes);
}

static void write_heading(FILE *out, const char *name, const char *attributes) {
    if (!name) return;
    fputs("<th scope=\"col\">", out);
    write_key(out, "currentColor", attributes);
    markup_text(out, name);
    fputs("</th>", out);
}

/* The last value of a curve; an empty cell if there is no curve. */
static void write_value(FILE *out, const Chart *chart, const Curve *curve) {
    if (!curve) {
        fputs("<td></td>", out);
        return;
    }
    fputs("<td data-name=\"", out);
    markup_text(out, curve->name);
    fputs("\">", out);
    if (curve->count > 0)
        fprintf(out, "%.*f", chart->decimals, curve->points[curve->count - 1].y);
    else
        fputs("–", out);
    fputs("</td>", out);
}

static const Curve *faint_of(const Chart *chart, int colour) {
    for (int i = 0; i < chart->curve_count; i++)
        if (chart->curves[i].faint && chart->curves[i].colour == colour) return &chart->curves[i];
    return NULL;
}

static void write_row(FILE *out, const char *name, const char *colour, const char *attributes) {
    fputs("<tr><th scope=\"row\">", out);
    write_key(out, colour, attributes);
    markup_text(out, name);
    fputs("</th>", out);
}

static void write_legend(FILE *out, const Chart *chart) {
    static const char thick[] = "stroke-width=\"3\"", thin[] = "stroke-opacity=\".6\"",
                      broken[] = "stroke-dasharray=\"5 3\"";
    fputs("<table class=\"legend\">\n<thead><tr><th scope=\"col\" class=\"place\">last value</th>",
          out);
    write_heading(out, chart->strong, thick);
    write_heading(out, chart->faint, thin);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < chart->curve_count; i++) {
        const Curve *curve = &chart->curves[i];
        if (curve->faint) continue;
        write_row(out, curve->name, chart_colour(curve->colour), thick);
        write_value(out, chart, curve);
        if (chart->faint) write_value(out, chart, faint_of(chart, curve->colour));
        fputs("</tr>\n", out);
    }
    for (int i = 0; i < chart->level_count; i++) {
        write_row(out, chart->levels[i].name, "#808080", broken);
        fprintf(out, "<td>%.*f</td>%s</tr>\n", chart->decimals, chart->levels[i].y,
                chart->faint ? "<td></td>" : "");
    }
    fputs("</tbody>\n</table>\n", out);
}

void figure_chart(FILE *out, const Chart *chart) {
    fprintf(out, "<figure class=\"charted%s\" id=\"figure-%s\">\n<figcaption>",
            chart->names ? " named" : "", chart->id);
    markup_text(out, chart->title);
    fputs("</figcaption>\n", out);
    chart_draw(out, chart);
    write_legend(out, chart);
    fputs("</figure>\n", out);
}

void figure_map(FILE *out, const char *id, const char *caption, const char *title,
                const float *weights, int T, const char (*glyphs)[GLYPH_SIZE]) {
    fprintf(out, "<figure class=\"mapped\" id=\"figure-%s\">\n<figcaption>", id);
    markup_text(out, caption);
    fputs("</figcaption>\n", out);
    map_draw(out, id, title, weights, T, glyphs);
    fputs("<output></output>\n</figure>\n", out);
}
