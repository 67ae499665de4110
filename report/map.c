#include "report/map.h"
#include "report/markup.h"

#include <math.h>

enum { CELL = 14, AXIS = 20, SHADES = 8 };

static int shade_of(float weight) {
    return weight > 0 ? (int)(fminf(weight, 1) * SHADES + 0.5f) : 0; /* NaN: none */
}

/* Draws all cells of one shade as one path. Neighbours in a row become one rectangle. */
static void draw_shade(FILE *out, const float *weights, int T, int shade) {
    bool any = false;
    for (int t = 0; t < T; t++) {
        const float *row = weights + (size_t)t * (size_t)T;
        for (int s = 0; s <= t; s++) {
            if (shade_of(row[s]) != shade) continue;
            int first = s;
            while (s < t && shade_of(row[s + 1]) == shade) s++;
            if (!any) fputs("<path d=\"", out);
            any = true;
            fprintf(out, "M%d %dh%dv1H%dz", first, t, s + 1 - first, first);
        }
    }
    if (any) fprintf(out, "\" fill-opacity=\"%.3g\"/>\n", (double)shade / SHADES);
}

static void draw_glyph(FILE *out, int x, int y, const char *glyph) {
    fprintf(out, "<text x=\"%d\" y=\"%d\">", x, y);
    markup_text(out, glyph);
    fputs("</text>\n", out);
}

void map_draw(FILE *out, const char *id, const char *title, const float *weights, int T,
              const char (*glyphs)[GLYPH_SIZE]) {
    int side = AXIS + CELL * T;
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" class=\"map\" role=\"img\" "
        "viewBox=\"0 0 %d %d\" font-family=\"ui-monospace, monospace\" font-size=\"11\">\n<title>",
        id, side + 2, side + 2);
    markup_text(out, title);
    fprintf(out,
            "</title>\n<g fill=\"#3b82d6\" transform=\"translate(%d %d) scale(%d)\">\n<path "
            "d=\"M0 0",
            AXIS, AXIS, CELL);
    for (int t = 0; t < T; t++) fputs("h1v1", out); /* the edge of the triangle */
    fputs("H0z\" fill=\"#808080\" fill-opacity=\".1\"/>\n", out);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(out, weights, T, shade);
    fputs("</g>\n<g fill=\"#808080\" text-anchor=\"middle\">\n", out);
    for (int t = 0; t < T; t++) {
        draw_glyph(out, AXIS / 2, AXIS + CELL * t + 11, glyphs[t]);
        draw_glyph(out, AXIS + CELL * t + CELL / 2, AXIS - 6, glyphs[t]);
    }
    fputs("</g>\n</svg>\n", out);
}
