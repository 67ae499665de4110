#include "programs/report/heat.h"
#include "programs/report/elision.h"

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

/* The gap of a map whose middle is left out. */
static void draw_gap(FILE *out, Elision tokens, int i, const char *sign) {
    if (i == tokens.gap) fputs(sign, out);
}

static void draw_row(const Screen *screen, const HeatMap *map, Elision tokens, int t,
                     const char *glyph) {
    fprintf(screen->out, "%s ", glyph);
    for (int i = 0; i < tokens.shown; i++) {
        int s = elision_place(tokens, i);
        float weight = map->weights[(size_t)t * (size_t)tokens.count + (size_t)s];
        draw_gap(screen->out, tokens, i, s > t ? "  " : "..");
        if (s > t)
            fputs("  ", screen->out);
        else if (screen->colour)
            draw_colour(screen->out, weight);
        else
            draw_digit(screen->out, weight);
    }
}

/* The tokens above their columns. */
static void draw_head(FILE *out, Elision tokens, const char (*glyphs)[GLYPH_SIZE]) {
    fprintf(out, "%*s", AXIS, "");
    for (int i = 0; i < tokens.shown; i++) {
        draw_gap(out, tokens, i, "..");
        fputs(glyphs[elision_place(tokens, i)], out);
    }
}

/* The columns between the axis and the right edge of a map. */
static int cells_of(Elision tokens) {
    return CELL * (tokens.shown + (tokens.gap >= 0));
}

/* The width of a map, at least that of its title. */
static int width_of(Elision tokens) {
    int map = AXIS + cells_of(tokens);
    return map < HEAT_TITLE ? HEAT_TITLE : map;
}

/* Draws maps side by side. */
static void draw_band(const Screen *screen, const HeatMap *maps, int count, Elision tokens,
                      const char (*glyphs)[GLYPH_SIZE]) {
    FILE *out = screen->out;
    int width = width_of(tokens);
    for (int m = 0; m < count; m++)
        fprintf(out, "%-*.*s", m + 1 < count ? width + GAP : 0, width, maps[m].title);
    fputc('\n', out);
    for (int i = -1; i < tokens.shown; i++) {
        int t = elision_place(tokens, i);
        if (i == tokens.gap && i >= 0) fputs("..\n", out);
        for (int m = 0; m < count; m++) {
            if (m > 0) fprintf(out, "%*s", GAP, "");
            if (i >= 0)
                draw_row(screen, &maps[m], tokens, t, glyphs[t]);
            else
                draw_head(out, tokens, glyphs);
            if (m + 1 < count) fprintf(out, "%*s", width - AXIS - cells_of(tokens), "");
        }
        fputc('\n', out);
    }
}

int heat_draw(const Screen *screen, const HeatMap *maps, int count, int T,
              const char (*glyphs)[GLYPH_SIZE]) {
    int fit = (screen->columns - AXIS) / CELL;
    Elision tokens = elide(T, T <= fit || fit < 2 ? fit : fit - 1);
    int per_band = (screen->columns + GAP) / (width_of(tokens) + GAP);
    if (per_band < 1) per_band = 1;
    for (int m = 0; m < count; m += per_band) {
        int band = count - m < per_band ? count - m : per_band;
        if (m > 0) fputc('\n', screen->out);
        draw_band(screen, maps + m, band, tokens, glyphs);
    }
    return tokens.shown;
}
