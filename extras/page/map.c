/* map.c - a head's attention weights as an SVG. */
#include "extras/page/figure.h"

#include <math.h>

enum { CELL = 14, AXIS = 20, SHADES = 16 };
#define BLUE "#3b82d6"

static float clamped(float weight) {
    return weight > 0 ? fminf(weight, 1) : 0; /* NaN becomes 0 */
}

/* Returns the shade of a weight. The eye sees its root: a weight of 0.05 is visible, too. */
static int shade_of(float weight) {
    return (int)(sqrtf(clamped(weight)) * SHADES + 0.5f);
}

/* Draws all cells of one shade as one path. Neighbors in a row become one line, as thick as a cell
 * is high. */
static void draw_shade(FILE *out, const float *weights, int T, int shade) {
    bool any = false;
    for (int t = 0; t < T; t++) {
        const float *row = weights + (size_t)t * (size_t)T;
        for (int s = 0; s <= t; s++) {
            if (shade_of(row[s]) != shade) continue;
            int first = s;
            while (s < t && shade_of(row[s + 1]) == shade) s++;
            if (!any) fprintf(out, "<path stroke-opacity=\"%.3g\" d=\"", (double)shade / SHADES);
            any = true;
            fprintf(out, "M%d %dh%d", first, t, s + 1 - first);
        }
    }
    if (any) fputs("\"/>\n", out);
}

static void write_weights(FILE *out, const float *weights, int T) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++)
            fprintf(out, "%s%.0f",
                    s   ? ","
                    : t ? ";"
                        : "",
                    (double)clamped(weights[t * T + s]) * 1000);
}

static void draw_glyphs(FILE *out, const char *name, const char *axis, int x, int y,
                        const Glyph *glyphs, int T) {
    fprintf(out, "<g class=\"%s\" transform=\"translate(%d %d)\">", name, x, y);
    for (int t = 0; t < T; t++)
        markup(out, "<text %s=\"%d\">%s</text>", axis, CELL * t, glyphs[t].text);
    fputs("</g>\n", out);
}

void figure_map(FILE *out, const HeadMap *map, int T, const Glyph *glyphs) {
    const int side = AXIS + CELL * T;
    char id[48];
    snprintf(id, sizeof id, "map-%d-%d", map->layer, map->head);
    markup(out,
           "<figure class=\"mapped\" id=\"figure-%s\">\n<figcaption>head %d</figcaption>\n"
           "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" class=\"map\" role=\"img\" "
           "viewBox=\"0 0 %d %d\" font-family=\"ui-monospace, monospace\" font-size=\"11\" "
           "data-weights=\"",
           id, map->head, id, side + 2, side + 2);
    write_weights(out, map->weights, T);
    markup(out,
           "\">\n<title>layer %d, head %d</title>\n<g class=\"cells\" transform=\"translate(%d %d) "
           "scale(%d)\">\n<path d=\"M0 0",
           map->layer, map->head, AXIS, AXIS, CELL);
    for (int t = 0; t < T; t++) fputs("h1v1", out); /* the edge of the triangle */
    fputs("H0z\" fill=\"#808080\" fill-opacity=\".1\"/>\n<g stroke=\"" BLUE
          "\" transform=\"translate(0 .5)\" shape-rendering=\"crispEdges\">\n",
          out);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(out, map->weights, T, shade);
    fputs("</g>\n</g>\n<g fill=\"#808080\" text-anchor=\"middle\">\n", out);
    draw_glyphs(out, "rows", "y", AXIS / 2, AXIS + CELL - 3, glyphs, T);
    draw_glyphs(out, "columns", "x", AXIS + CELL / 2, AXIS - 6, glyphs, T);
    fputs("</g>\n</svg>\n<output></output>\n</figure>\n", out);
}

void figure_scale(FILE *out) {
    enum { MARGIN = 14, WIDTH = 12, HEIGHT = 14, QUARTERS = 4 };
    fputs(
        "<p class=\"hint\" hidden>Point at a cell, or select a map and use the arrow keys, to read "
        "its weight.</p>\n",
        out);
    fprintf(out,
            "<svg class=\"scale\" role=\"img\" width=\"%d\" height=\"34\" font-size=\"12\">\n"
            "<title>The scale of the maps: the bluer a cell, the larger its weight, from 0 to "
            "1</title>\n",
            2 * MARGIN + (SHADES + 1) * WIDTH);
    fprintf(out, "<rect x=\"%d\" width=\"%d\" height=\"%d\" fill=\"#808080\" fill-opacity=\".1\"/>",
            MARGIN, (SHADES + 1) * WIDTH, HEIGHT);
    for (int shade = 1; shade <= SHADES; shade++)
        fprintf(out,
                "<rect x=\"%d\" width=\"%d\" height=\"%d\" fill=\"" BLUE
                "\" fill-opacity=\"%.3g\"/>",
                MARGIN + shade * WIDTH, WIDTH, HEIGHT, (double)shade / SHADES);
    fputs("\n<g fill=\"#808080\" text-anchor=\"middle\">", out);
    for (int i = 0; i <= QUARTERS; i++)
        fprintf(out, "<text x=\"%d\" y=\"28\">%.2g</text>",
                MARGIN + WIDTH / 2 + i * SHADES / QUARTERS * WIDTH,
                (double)(i * i) / (QUARTERS * QUARTERS));
    fputs("</g>\n</svg>\n", out);
}
