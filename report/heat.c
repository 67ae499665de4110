#include "report/heat.h"

#include <math.h>
#include <string.h>

enum { CELL = GLYPH_COLUMNS, AXIS = GLYPH_COLUMNS + 1, GAP = 2 };

/* Colours from dark to light among a terminal's 256. */
static void draw_colour(FILE *out, float weight) {
    static const int ramp[] = {234, 17, 18, 19, 20, 26, 32, 38, 44, 80, 116, 152, 188, 230};
    enum { SHADES = sizeof ramp / sizeof *ramp };
    int shade = weight > 0 ? (int)(fminf(weight, 1) * SHADES) : 0; /* NaN: none */
    fprintf(out, "\033[48;5;%dm  \033[0m", ramp[shade < SHADES ? shade : SHADES - 1]);
}

static void draw_digit(FILE *out, float weight) {
    int tenths = weight > 0 ? (int)(fminf(weight, 1) * 10 + 0.5f) : 0; /* NaN: none */
    if (tenths == 0)
        fputs(". ", out);
    else
        fprintf(out, "%d ", tenths < 9 ? tenths : 9);
}

/* The width of a map, at least that of its title. */
static int width_of(int shown) {
    int map = AXIS + CELL * shown;
    return map < HEAT_TITLE ? HEAT_TITLE : map;
}

static void draw_row(const Screen *screen, const HeatMap *map, int T, int shown, int t,
                     const char *glyph) {
    fprintf(screen->out, "%s ", glyph);
    for (int s = 0; s < shown; s++) {
        float weight = map->weights[(size_t)t * (size_t)T + (size_t)s];
        if (s > t)
            fputs("  ", screen->out);
        else if (screen->colour)
            draw_colour(screen->out, weight);
        else
            draw_digit(screen->out, weight);
    }
}

/* Draws maps side by side. */
static void draw_band(const Screen *screen, const HeatMap *maps, int count, int T, int shown,
                      const char (*glyphs)[GLYPH_SIZE]) {
    FILE *out = screen->out;
    int width = width_of(shown);
    for (int m = 0; m < count; m++)
        fprintf(out, "%-*.*s", m + 1 < count ? width + GAP : 0, width, maps[m].title);
    fputc('\n', out);
    for (int t = -1; t < shown; t++) {
        for (int m = 0; m < count; m++) {
            if (m > 0) fprintf(out, "%*s", GAP, "");
            if (t >= 0) {
                draw_row(screen, &maps[m], T, shown, t, glyphs[t]);
            } else {
                fprintf(out, "%*s", AXIS, "");
                for (int s = 0; s < shown; s++) fputs(glyphs[s], out);
            }
            if (m + 1 < count) fprintf(out, "%*s", width - AXIS - CELL * shown, "");
        }
        fputc('\n', out);
    }
}

void heat_draw(const Screen *screen, const HeatMap *maps, int count, int T,
               const char (*glyphs)[GLYPH_SIZE]) {
    int shown = (screen->columns - AXIS) / CELL;
    if (shown > T) shown = T;
    int per_band = (screen->columns + GAP) / (width_of(shown) + GAP);
    if (per_band < 1) per_band = 1;
    for (int m = 0; m < count; m += per_band) {
        int band = count - m < per_band ? count - m : per_band;
        if (m > 0) fputc('\n', screen->out);
        draw_band(screen, maps + m, band, T, shown, glyphs);
    }
    if (shown < T)
        fprintf(screen->out, "(the first %d of %d characters: as many as fit)\n", shown, T);
    if (!screen->colour)
        fputs("(in tenths: . is less than 0.05, 9 is 0.85 or more)\n", screen->out);
}
